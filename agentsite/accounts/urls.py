from django.urls import path

from agentsite.accounts import views

urlpatterns = [
    path("accounts/link/<str:token>/", views.sign_in_link, name="sign_in_link"),
]
