// Forms sent with a passkey: `data-passkey` says whether one is created ("create") or requested ("get");
// `data-options` has the server's options, or `data-from` the address to get them from.

const TOO_OLD = "This browser doesn't support passkeys. Use your password or another browser.";
const NOT_DONE = "The passkey wasn't used. Try again, or choose another way.";

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const answer = await fetch(form.dataset.from, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return (await answer.json()).request_options;
}

async function createCredential(publicKey, passwordless) {
  const selection = { ...publicKey.authenticatorSelection };
  if (passwordless) {
    Object.assign(selection, {
      residentKey: "required",
      requireResidentKey: true,
      userVerification: "required",
    });
  }
  const creationOptions = { ...publicKey, authenticatorSelection: selection };
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(creationOptions);
  return navigator.credentials.create({ publicKey: options });
}

async function requestCredential(publicKey) {
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
  return navigator.credentials.get({ publicKey: options });
}

function tell(form, text) {
  form.querySelector(".problem")?.remove();
  if (!text) return;
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  problem.textContent = text;
  form.prepend(problem);
}

async function send(form) {
  tell(form, "");
  try {
    const { publicKey } = await optionsOf(form);
    const credential =
      form.dataset.passkey === "create"
        ? await createCredential(publicKey, form.elements.passwordless.checked)
        : await requestCredential(publicKey);
    form.elements.credential.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch {
    tell(form, NOT_DONE);
  }
}

const isKnown = "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;
for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (isKnown) form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isKnown) send(form);
    else tell(form, TOO_OLD);
  });
}
