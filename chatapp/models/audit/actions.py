"""What may stand in the log: each action, and its words on the page.

An action that stands in a log stays here, since logs outlive the versions that wrote them.
"""

from collections.abc import Mapping

# Each follows who did it, and is followed by what it was done to, where there is such a thing.
ACTIONS: Mapping[str, str] = {
    # Accounts
    "person.signed_in": "signed in",
    "person.sign_in_failed": "did not get in as",
    "person.confirmation_failed": "gave a wrong password, asked for it again, as",
    "person.signed_out": "signed out",
    "person.invited": "invited",
    "person.joined": "joined by an invitation",
    "person.added": "added the account",
    "person.changed": "changed the account",
    "person.deleted": "asked to delete the account",
    "person.erased": "erased the account",
    "person.deactivated": "switched off the account",
    "person.activated": "switched on the account",
    "sessions.ended": "signed out",
    "factor.added": "added a second factor to",
    "factor.removed": "removed the second factor of",
    "identity.joined": "can sign in by the organisation's sign-in as",
    "address.confirmed": "confirmed an address as",
    "password.link_made": "made a link to a new password for",
    "password.changed": "set a new password of",
    "role.changed": "changed the rights of",
    "hold.set": "put a legal hold on",
    "hold.ended": "ended the legal hold on",
    # What is set
    "group.added": "added the group",
    "group.changed": "changed the group",
    "group.deleted": "deleted the group",
    "access.changed": "said who may use",
    "invitation.revoked": "took back the invitation",
    "upstream.added": "added the upstream",
    "upstream.changed": "changed the upstream",
    "upstream.deleted": "deleted the upstream",
    "toolserver.added": "added the tool server",
    "toolserver.changed": "changed the tool server",
    "toolserver.deleted": "deleted the tool server",
    "suggestion.added": "added the suggestion",
    "suggestion.changed": "changed the suggestion",
    "suggestion.deleted": "deleted the suggestion",
    "installation.changed": "changed what is set for",
    "limit.added": "added the limit",
    "limit.changed": "changed the limit",
    "limit.deleted": "deleted the limit",
    "price.changed": "changed the price",
    "policy.changed": "set the policy of reviews:",
    "retention.changed": "set how long things are kept in",
    "retention.applied": "deleted what was kept for as long as is set",
    "secrets.rotated": "encrypted what is stored by a new key",
    # What is read and taken away
    "conversation.opened": "opened the conversation",
    "conversations.listed": "looked through the list of conversations",
    "image.opened": "looked at an image of the conversation",
    "conversations.exported": "exported conversations",
    "conversations.searched": "searched the texts of conversations",
    "archive.made": "took along all that is kept of",
    "backup.made": "made a backup",
    "backup.restored": "restored a backup",
    # What reviewers decide
    "review.claimed": "took on the conversation",
    "review.released": "let go of the conversation",
    "review.decided": "decided about the conversation",
    "review.labelled": "labelled the conversation",
    "review.noted": "wrote a note on the conversation",
    "reviewlabel.added": "added the label",
    "reviewlabel.deleted": "deleted the label",
    # The log itself
    "log.exported": "exported the audit log",
    "log.pruned": "deleted the audit log up to and with event",
    "log.emptied": "took names out of the audit log, for their age, up to and with event",
    "log.resumed": "went on with an audit log whose head was missing, after event",
}
