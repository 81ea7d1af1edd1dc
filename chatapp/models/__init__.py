"""The database models: people, upstreams, tool servers, conversations, messages and their cost.

Methods say what happens (`conversation.ask(…)`, `message.finish(…)`); queries over many rows are
queryset methods. All of it is synchronous and short: one transaction per call.

Imports `upstream.wire`, which does no I/O, and the packages of the lowest layer.
"""

from chatapp.models.accounts.access_rules import AccessRule, ModelAccess, load_model_access
from chatapp.models.accounts.access_tokens import AccessToken
from chatapp.models.accounts.avatars import Avatar
from chatapp.models.accounts.devices import Device
from chatapp.models.accounts.memory import Memory
from chatapp.models.accounts.users import User
from chatapp.models.audit import AuditDetail, AuditEvent, AuditHead
from chatapp.models.billing.budget_accounts import BudgetAccount, BudgetHold
from chatapp.models.billing.daily_usage import DailyUsage, MonthlyUsage
from chatapp.models.billing.limits import Limit
from chatapp.models.billing.prices import Price
from chatapp.models.billing.usage import Usage
from chatapp.models.conversations.chats import project_chats  # noqa: F401 - imported for their receivers
from chatapp.models.conversations.chats.chat_settings import (
    ChatSettings,
    ParameterChoice,
    ToolAllowance,
)
from chatapp.models.conversations.chats.conversation import Conversation
from chatapp.models.conversations.chats.feedback import Feedback
from chatapp.models.conversations.chats.projects import Project, ProjectMember
from chatapp.models.conversations.chats.request_settings import RequestSettings
from chatapp.models.conversations.chats.temporary import TemporaryHold
from chatapp.models.conversations.messages import sequence  # noqa: F401 - imported for their receivers
from chatapp.models.conversations.messages.images import ReplyImage
from chatapp.models.conversations.messages.messages import Message
from chatapp.models.conversations.threads import ledger  # noqa: F401 - imported for their receivers
from chatapp.models.conversations.threads.context_cuts import ContextCut
from chatapp.models.conversations.threads.thread_pages import ThreadPage
from chatapp.models.conversations.turns.deletions import Deletion, DeletionResult, Restoration
from chatapp.models.conversations.turns.exports import ChatExport
from chatapp.models.conversations.turns.forks import Fork
from chatapp.models.conversations.turns.leaving_out import EditSummary, LeaveOut, SendAgain
from chatapp.models.conversations.turns.summaries import PlannedSummary, Summarise
from chatapp.models.conversations.turns.turn import Turn
from chatapp.models.conversations.turns.turns import Continuation, Edit, Prompt, Retry
from chatapp.models.files.attachments import Attachment
from chatapp.models.files.contents import FileContent, PageImage
from chatapp.models.files.import_files import ImportFile
from chatapp.models.files.stored_files import StoredFile
from chatapp.models.imports.imports import Import, ImportedChat, ImportedMessages
from chatapp.models.library.file_sets import FileSet, PresetFile
from chatapp.models.library.presets import Preset, PresetGrant, PresetVersion
from chatapp.models.library.prompts import (
    PromptGrant,
    PromptVersion,
    RememberedValues,
    SavedPrompt,
)
from chatapp.models.platform.cache import CacheEntry
from chatapp.models.platform.claimed_groups import ClaimedGroup
from chatapp.models.platform.fallbacks import Fallback
from chatapp.models.platform.installation import Installation
from chatapp.models.platform.invitations import Invitation
from chatapp.models.platform.logos import Logo
from chatapp.models.platform.processes import Process
from chatapp.models.platform.suggestions import Suggestion
from chatapp.models.platform.tool_servers import ToolServer
from chatapp.models.platform.upstream_failures import UpstreamFailure
from chatapp.models.platform.upstreams import ModelChoice, Upstream
from chatapp.models.policies.legal_holds import LegalHold
from chatapp.models.policies.review_policies import ReviewPolicy
from chatapp.models.refusals import ChatNotFound, Refused, StillStreaming
from chatapp.models.retention.periods import Retention
from chatapp.models.review import facets  # noqa: F401 - imported for their post_migrate receivers
from chatapp.models.review.conversation_facets import ConversationFacet, ConversationSums
from chatapp.models.review.reviews import Opening, Review, ReviewLabel, ReviewNote
from chatapp.models.review.rules import ReviewRule, RuleFinding, UnjudgedMessage
from chatapp.models.review.saved_views import ReviewSample, ReviewView, SampleMember
from chatapp.models.search.review_searches import ReviewSearch
from chatapp.models.search.search_entries import SearchEntry, index_some, reindex
from chatapp.models.sharing.shared_chats import SharedChat, SharedChatAudience

__all__ = [
    "AccessRule",
    "AccessToken",
    "Attachment",
    "AuditDetail",
    "AuditEvent",
    "AuditHead",
    "Avatar",
    "BudgetAccount",
    "BudgetHold",
    "CacheEntry",
    "ChatExport",
    "ChatNotFound",
    "ChatSettings",
    "ClaimedGroup",
    "ContextCut",
    "Continuation",
    "Conversation",
    "ConversationFacet",
    "ConversationSums",
    "DailyUsage",
    "Deletion",
    "DeletionResult",
    "Device",
    "Edit",
    "EditSummary",
    "Fallback",
    "Feedback",
    "FileContent",
    "FileSet",
    "Fork",
    "Import",
    "ImportFile",
    "ImportedChat",
    "ImportedMessages",
    "Installation",
    "Invitation",
    "LeaveOut",
    "LegalHold",
    "Limit",
    "Logo",
    "Memory",
    "Message",
    "ModelAccess",
    "ModelChoice",
    "MonthlyUsage",
    "Opening",
    "PageImage",
    "ParameterChoice",
    "PlannedSummary",
    "Preset",
    "PresetFile",
    "PresetGrant",
    "PresetVersion",
    "Price",
    "Process",
    "Project",
    "ProjectMember",
    "Prompt",
    "PromptGrant",
    "PromptVersion",
    "Refused",
    "RememberedValues",
    "ReplyImage",
    "RequestSettings",
    "Restoration",
    "Retention",
    "Retry",
    "Review",
    "ReviewLabel",
    "ReviewNote",
    "ReviewPolicy",
    "ReviewRule",
    "ReviewSample",
    "ReviewSearch",
    "ReviewView",
    "RuleFinding",
    "SampleMember",
    "SavedPrompt",
    "SearchEntry",
    "SendAgain",
    "SharedChat",
    "SharedChatAudience",
    "StillStreaming",
    "StoredFile",
    "Suggestion",
    "Summarise",
    "TemporaryHold",
    "ThreadPage",
    "ToolAllowance",
    "ToolServer",
    "Turn",
    "UnjudgedMessage",
    "Upstream",
    "UpstreamFailure",
    "Usage",
    "User",
    "index_some",
    "load_model_access",
    "reindex",
]
