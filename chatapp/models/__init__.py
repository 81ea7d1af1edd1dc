"""The database models: people, upstreams, tool servers, conversations, messages and their cost.

Methods say what happens (`conversation.ask(…)`, `message.finish(…)`); queries over many rows are
queryset methods. All of it is synchronous and short: one transaction per call.

Imports `upstream.wire`, which does no I/O, and the packages of the lowest layer.
"""

from chatapp.models import (  # noqa: F401 - imported for their post_migrate receivers
    facets,
    ledger,
    sequence,
)
from chatapp.models.access_rules import AccessRule, Permitted, permitted
from chatapp.models.audit import AuditDetail, AuditEvent, AuditHead
from chatapp.models.budget_accounts import BudgetAccount, BudgetHold
from chatapp.models.cache import CacheEntry
from chatapp.models.claimed_groups import ClaimedGroup
from chatapp.models.conversation_facets import ConversationFacet, ConversationSums
from chatapp.models.conversations import Conversation
from chatapp.models.daily_usage import DailyUsage, MonthlyUsage
from chatapp.models.deletions import Deleted, Deletion, Restoration
from chatapp.models.devices import Device
from chatapp.models.feedback import Feedback
from chatapp.models.forks import Fork
from chatapp.models.images import ReplyImage
from chatapp.models.installation import Installation
from chatapp.models.invitations import Invitation
from chatapp.models.legal_holds import LegalHold
from chatapp.models.limits import Limit
from chatapp.models.logos import Logo
from chatapp.models.messages import Message
from chatapp.models.prices import Price
from chatapp.models.processes import Process
from chatapp.models.projects import Project
from chatapp.models.refusals import NotHere, Refused, StillStreaming
from chatapp.models.retention import Retention
from chatapp.models.review_policies import ReviewPolicy
from chatapp.models.review_rules import ReviewRule, RuleFinding, UnjudgedMessage
from chatapp.models.review_searches import ReviewSearch
from chatapp.models.review_views import ReviewSample, ReviewView, SampleMember
from chatapp.models.reviews import Opening, Review, ReviewLabel, ReviewNote
from chatapp.models.search_entries import SearchEntry, index_some, reindex
from chatapp.models.suggestions import Suggestion
from chatapp.models.temporary import TemporaryHold
from chatapp.models.thread_pages import ThreadPage
from chatapp.models.tool_servers import ToolServer
from chatapp.models.turns import Continuation, Edit, Prompt, Retry, Turn
from chatapp.models.upstream_failures import UpstreamFailure
from chatapp.models.upstreams import ModelChoice, Upstream
from chatapp.models.usage import Usage
from chatapp.models.users import User

__all__ = [
    "AccessRule",
    "AuditDetail",
    "AuditEvent",
    "AuditHead",
    "BudgetAccount",
    "BudgetHold",
    "CacheEntry",
    "ClaimedGroup",
    "Continuation",
    "Conversation",
    "ConversationFacet",
    "ConversationSums",
    "DailyUsage",
    "Deleted",
    "Deletion",
    "Device",
    "Edit",
    "Feedback",
    "Fork",
    "Installation",
    "Invitation",
    "LegalHold",
    "Limit",
    "Logo",
    "Message",
    "ModelChoice",
    "MonthlyUsage",
    "NotHere",
    "Opening",
    "Permitted",
    "Price",
    "Process",
    "Project",
    "Prompt",
    "Refused",
    "ReplyImage",
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
    "SearchEntry",
    "StillStreaming",
    "Suggestion",
    "TemporaryHold",
    "ThreadPage",
    "ToolServer",
    "Turn",
    "UnjudgedMessage",
    "Upstream",
    "UpstreamFailure",
    "Usage",
    "User",
    "index_some",
    "permitted",
    "reindex",
]
