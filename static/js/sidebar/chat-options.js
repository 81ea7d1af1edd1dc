// The button of the shown conversation's menu knows where the conversation is.

const button = () => document.getElementById("chat-options");

// After an action on these conversations.
export function mark({ action, project }, ids) {
  const { dataset } = button();
  if (!ids.includes(dataset.id)) return;
  if (action === "pin") dataset.pinned = "";
  if (action === "unpin") delete dataset.pinned;
  if (action === "archive") dataset.folder = "archive";
  if (action === "unarchive") dataset.folder = "list";
  if (action === "move") dataset.project = project;
}
