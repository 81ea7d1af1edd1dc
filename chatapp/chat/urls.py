"""URLs of the chat."""

from django.urls import path

from chatapp.chat import (
    bulk_actions,
    chat_settings,
    feedback,
    help_views,
    message_views,
    project_members,
    projects,
    requests,
    sidebar,
    thread_views,
    views,
)

urlpatterns = [
    path("", views.chat, name="chat"),
    path("c/<uuid:pk>/", views.conversation, name="conversation"),
    path("c/<uuid:pk>/earlier/", thread_views.earlier, name="earlier-messages"),
    path("c/<uuid:pk>/later/", thread_views.later, name="later-messages"),
    path("c/<uuid:pk>/outline/", thread_views.outline, name="outline"),
    path("c/<uuid:pk>/settings/", chat_settings.of_chat, name="chat-settings"),
    path("c/<uuid:pk>/request/", requests.next_request, name="next-request"),
    path("c/<uuid:pk>/rename/", bulk_actions.rename, name="rename-conversation"),
    path("c/<uuid:pk>/keep/", bulk_actions.keep, name="keep-conversation"),
    path("chat-settings/", chat_settings.of_new_chat, name="new-chat-settings"),
    path("models/", views.models, name="models"),
    path("conversations/", sidebar.conversations, name="conversations"),
    path("conversations/change/", bulk_actions.change, name="change-conversations"),
    path("projects/", projects.create, name="new-project"),
    path("projects/<uuid:pk>/", projects.project, name="project"),
    path("projects/<uuid:pk>/change/", projects.change, name="change-project"),
    path("projects/<uuid:pk>/delete/", projects.delete, name="delete-project"),
    path("projects/<uuid:pk>/sharing/", project_members.sharing, name="share-project"),
    path("projects/<uuid:pk>/leave/", project_members.leave, name="leave-project"),
    path("projects/<uuid:pk>/others/", project_members.others, name="project-others"),
    path("prompts/<uuid:pk>/text/", message_views.prompt_text, name="prompt-text"),
    path("replies/<uuid:pk>/confidence/", message_views.confidence, name="confidence"),
    path("replies/<uuid:pk>/request/", requests.request_of_reply, name="reply-request"),
    path("replies/<uuid:pk>/markdown/", message_views.reply_markdown, name="reply-markdown"),
    path("replies/<uuid:pk>/feedback/", feedback.give, name="feedback"),
    path("replies/<uuid:pk>/images/<int:position>/", message_views.reply_image, name="reply-image"),
    path("shortcuts/", help_views.shortcuts, name="shortcuts"),
    path("help/", help_views.help_page, name="help"),
    path("help/administrators/", help_views.administrators_help, name="administrators-help"),
]
