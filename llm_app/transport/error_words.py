"""The words of providers and servers by which their errors are recognised, whatever the status.

Each list has its sources. All words are in lower case. The order of the kinds is decided in `http_errors`.
"""

import re

# --- content filters ------------------------------------------------------------------------------------------------
# Rejections of one conversation. Sources: the answers of OpenAI in github.com/Aider-AI/aider/issues/1903,
# openrouter.ai/docs/api/reference/errors-and-debugging (moderation, guardrails).
CONTENT_REJECTED = (
    "input was flagged",
    "request blocked",
    "content_policy_violation",  # OpenAI, and for pictures the next two
    "moderation_blocked",
    "rejected as a result of our safety system",
    "content_filter",  # Azure
    "content management policy",
    "content filtering policy",  # Anthropic
    "data_inspection_failed",  # DashScope
    "flagged as potentially violating",  # OpenAI's invalid_prompt: github.com/openai/codex/issues/7250
    "flagged for possible cybersecurity risk",  # OpenAI: github.com/openai/codex/issues/20873
    "content violates usage guidelines",  # xAI: github.com/theopenco/llmgateway/pull/1785
    "content exists risk",  # DeepSeek: github.com/deepseek-ai/awesome-deepseek-integration/issues/13
    "considered high risk",  # Kimi: github.com/MoonshotAI/kimi-cli/issues/1002
    "new_sensitive",  # MiniMax, codes 1026 and 1027: github.com/MiniMax-AI/cli/pull/256
    "unsafe or sensitive content",  # Z.ai, code 1301: docs.z.ai/api-reference/api-code
    "sensitivecontentdetected",  # Volcengine Ark: volcengine.com/docs/82379/1299023
    "contentpolicyviolationerror",  # LiteLLM's proxy: docs.litellm.ai/docs/exception_mapping
    "prohibited_content",  # Gemini: github.com/machinewrapped/llm-subtrans/issues/292
)

# --- accounts -------------------------------------------------------------------------------------------------------
NO_CREDIT = (
    "insufficient_quota",  # OpenAI: platform.openai.com/docs/guides/error-codes (429)
    "billing_not_active",
    "billing_hard_limit_reached",
    "billing hard limit",
    "credit balance is too low",  # Anthropic: github.com/anthropics/claude-code/issues/4684 (400)
    "insufficient balance",  # DeepSeek (402), MiniMax (1008): github.com/MiniMax-AI/MiniMax-M2/issues/62 (500)
    "insufficient_balance",  # Venice and gateways: github.com/Wei-Shaw/sub2api/issues/890 (403)
    "insufficient account balance",
    "balance is insufficient",  # SiliconFlow
    "no resource package",  # Z.ai (1113): github.com/zai-org/feedback/issues/789
    "please recharge",
    "arrearage",  # DashScope: github.com/HKUDS/nanobot/pull/4048 (400)
    "in good standing",
    "freetieronly",  # DashScope: help.aliyun.com/zh/model-studio/error-code
    "free tier of the model has been exhausted",
    "overdue balance",  # Volcengine: AccountOverdueError
    "accountoverdue",
    "exceeded_current_quota",  # Kimi: github.com/anomalyco/opencode/issues/24462 (429)
    "check your account balance",
    "insufficient credit",  # OpenRouter (402)
    "insufficient_credit",
    "requires more credits",
    "can only afford",
    "never purchased credits",
    "doesn't have any credits",  # xAI (403): "your newly created team doesn't have any credits or licenses yet"
    "does not have any credits",
    "used all available credits",  # xAI (429)
    "run out of credits",
    "out of credits",
    "no credits left",
    "no credits remaining",
    "credits exhausted",
    "credits have been exhausted",
    "exceeded your monthly included credits",  # Hugging Face (402)
    "credit limit exceeded",  # Together (402)
    "insufficient funds",  # Vercel's gateway (402)
    "insufficient_funds",
    "spending limit",  # xAI, Fireworks (412)
    "spend limit",
    "failure to pay past invoices",
    "payment required",  # the reason phrase of 402, which gateways wrap
    "payment_required",
    "billing to be enabled",  # Google: BILLING_DISABLED (403)
    "billing_disabled",
    "insufficient_user_quota",  # one-api and new-api
    "欠费",  # Z.ai, DashScope and gateways, in Chinese: no credit
    "余额不足",
    "额度不足",
)
# With the words of Kimi ("your account … is suspended") and OpenAI; Gemini uses them for limits a minute, too.
CHECK_BILLING = ("check your plan and billing",)
LIMIT_A_MINUTE = ("quota exceeded for metric", "retry in", "perminute", "retryinfo")
COUNTS_A_MINUTE = re.compile(r"per[ _-]?min(?:ute)?\b|\b[rt]pm\b")

# Allowances of an hour or longer. Sources: platform.claude.com/docs/en/api/errors and claude.ai's limits (Anthropic),
# github.com/openai/codex/issues/3899 (ChatGPT), github.com/hugalafutro/model-hotel/pull/955 (Z.ai 1308 and 1310),
# github.com/openclaw/openclaw/pull/142656 (Kimi), console.groq.com/docs/rate-limits (Groq: TPD, RPD),
# openrouter.ai/docs/api/reference/limits (free models), help.aliyun.com/zh/model-studio/error-code (DashScope's plans).
ALLOWANCE_SPENT = re.compile(
    r"usage[ _]limits?[ _](?:has been |was )?(?:reached|exceeded|hit)"
    r"|(?:reached|hit|exceeded|exhausted|over) (?:your|the|its) (?:\w+[ -]){0,3}(?:\([\w -]+\) )?"
    r"(?:usage|spend(?:ing)?|monthly|weekly|daily|hourly|session) (?:limit|cap|quota|allowance)"
    r"|api usage limits?"
    r"|(?:hourly|daily|weekly|monthly|weekly/monthly|5[- ]?hours?|session)(?: \w+){0,2} (?:limit|quota|allowance|cap)"
    r"(?: \w+){0,3} (?:reached|exceeded|exhausted|used up|hit)"
    r"|(?:hour|day|week|month)s? allocated quota exceeded"
    r"|(?:quota|limit|allowance) will (?:be )?(?:reset|refreshed)"
    r"|access_terminated_error|billing cycle"  # Kimi's plans
    r"|premium request (?:allowance|limit|quota)|(?<![a-z_])quota_exceeded"  # GitHub Copilot
    r"|budget has been exceeded|budget_exceeded|exceededbudget"  # litellm's proxy
    r"|used up your (?:\w+ ){0,3}(?:allocation|allowance|quota)"  # Cloudflare
    r"|api calls / month"  # Cohere's trial keys
    r"|key limit exceeded"  # OpenRouter: the limit of a key
    r"|使用上限|限额将在"  # Z.ai, in Chinese: the limit of use, and its reset
)
ALLOWANCE_A_DAY = re.compile(
    r"per[- _]?day|per[- _]?week|per[- _]?month|\((?:tpd|rpd)\)|daily (?:limit|quota)|free-models-per-day"
)
GEMINI_ALLOWANCE_A_DAY = re.compile(r"requestsperday|tokensperday|perdayper")

# Rejected keys that come with another status than 401. Sources: ai.google.dev/gemini-api/docs/troubleshooting (400),
# platform.minimax.io/docs/api-reference/errorcode (2049), docs.z.ai/api-reference/api-code.
KEY_REJECTED = (
    "api_key_invalid",
    "api key not valid",
    "api key expired",
    "api key was reported as leaked",  # Gemini (403)
    "invalid_api_key",
    "invalid api key",
    "invalid api-key",  # DashScope
    "incorrect api key",
    "api key is invalid",
    "no auth credentials",  # OpenRouter
    "missing authentication",
)

# Sources: the answer of OpenAI in github.com/songquanpeng/one-api/issues/1692 (403), of Gemini in
# github.com/google-gemini/gemini-cli/issues/24641 (400), of a gateway in github.com/anomalyco/opencode/issues/45755.
REGION_UNSUPPORTED = re.compile(
    r"unsupported_country_region|unsupported[ _](?:countr|region|location)"
    r"|(?:countr(?:y|ies)|regions?|territor(?:y|ies)|locations?) (?:is |are )?(?:currently )?(?:not|un)[ -]?"
    r"(?:supported|available|allowed|permitted)"
    r"|not (?:currently )?(?:supported|available|offered|allowed|permitted) (?:in|from|for) (?:your|this|the) "
    r"(?:current )?(?:country|region|territory|location|area)"
    r"|restricted (?:country|region|territory|location)"
)

# Rights of an account or its plan to one model. Sources: openrouter.ai/docs/guides/features/privacy-and-logging (404),
# OpenAI's verification of organisations (403, 404), platform.minimax.io/docs/api-reference/errorcode (2061).
ACCESS_DENIED = (
    "guardrail restrictions and data policy",
    "matching your data policy",
    "organization must be verified",
    "plan does not include",
    "plan not support model",
    "not available on the free tier",
    "model_not_supported_on_free_tier",
)

# --- models ---------------------------------------------------------------------------------------------------------
MODEL_UNKNOWN = (
    "model_not_found",  # OpenAI (403): github.com/Aider-AI/aider/issues/1903
    "model not exist",  # DeepSeek (400)
    "is not a valid model id",  # OpenRouter (400)
)
# Sources: github.com/pydantic/pydantic-ai/issues/2896 (OpenRouter, 404), github.com/ollama/ollama/issues/6027, the
# answers of xAI in github.com/google/adk-python/issues/952, of OpenAI in github.com/BoltAI/BoltAI/issues/145,
# docs.vllm.ai/en/latest/features/tool_calling.html, tools/server in github.com/ggml-org/llama.cpp.
_CALLING = (
    r"[`'\"]?(?:tools?(?: use| usage|[- ]call(?:s|ing)?)?|function[- ]?call(?:s|ing)?)[`'\"]?(?![\w.\[]|[ _-]choice)"
)
TOOLS_UNSUPPORTED = re.compile(
    r"requires --enable-auto-tool-choice|tools param requires --jinja|functions are not supported for this"
    rf"|(?:not|n't) support(?: the use of)? {_CALLING}|endpoints found that support {_CALLING}"
    rf"|{_CALLING} (?:is|are) (?:currently )?(?:not (?:supported|enabled|available)|unsupported)"
    r" (?:with|by|for|in|on) (?:this|the|models?\b)"
)
# Refusals of one field that OpenRouter sends with 404: github.com/Routstr/routstr-core/issues/554.
FIELD_REFUSED = ("endpoints found that support",)

# --- length ---------------------------------------------------------------------------------------------------------
# Not included: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens" and similar messages.
# More sources: github.com/docker/docker-agent/issues/569, the packages vllm/v1/engine and vllm/renderers of vLLM, and
# packages/ai/src/utils/overflow.ts in github.com/earendil-works/pi.
TOO_LONG = (
    "context_length_exceeded",
    "context length exceeded",
    "maximum context length",  # OpenAI, vLLM, OpenRouter, Mistral
    "context length is only",  # vLLM: github.com/anomalyco/opencode/issues/17746
    "longer than the maximum model length",  # vLLM's input processor
    "exceeds the max_model_len",
    "too long to fit into the model",
    "longer than the model's context length",  # SGLang, Together
    "prompt is too long",  # Anthropic
    "prompt too long",  # Ollama
    "exceed context limit",
    "exceeds the context window",  # OpenAI's responses
    "exceed context window",  # llama-cpp-python
    "exceeds model context window",
    "input tokens exceed the configured limit",  # OpenAI
    "exceeds the maximum number of tokens allowed",  # Gemini
    "model only supports up to",  # Vertex AI
    "maximum prompt length",  # xAI
    "model_max_prompt_tokens_exceeded",  # GitHub Copilot: github.com/ericc-ch/copilot-api/issues/210
    "context length of only",  # LM Studio
    "greater than the context length",  # LM Studio: github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2205
    "shorter input",
    "exceed_context_size",  # llama.cpp: github.com/ggml-org/llama.cpp/pull/15780
    "exceeds the available context",
    "context size has been exceeded",  # llama.cpp (500): github.com/ggml-org/llama.cpp/issues/19774
    "input length exceeds",  # Ollama
    "maximum allowed input length",  # OpenRouter and Poolside
    "maximum input length",  # TensorRT-LLM
    "input is too long",  # Bedrock
    "input tokens exceeded",
    "number of input tokens exceeds",
    "range of input length should be",  # DashScope: github.com/anomalyco/opencode/pull/45834
    "token length exceed model limit",
    "context window exceeds limit",  # MiniMax (2013): github.com/NousResearch/hermes-agent/pull/14743
    "prompt exceeds max length",  # Z.ai (1261): github.com/earendil-works/pi/issues/8991
    "more than max tokens allowed",  # Z.ai (1210): github.com/anomalyco/opencode/issues/27629
    "超长",  # Z.ai, in Chinese
    "超过最大长度",
    "exceeded model token limit",  # Kimi: github.com/MoonshotAI/kimi-cli/issues/2011
    "total message size",  # Kimi, in bytes: github.com/MoonshotAI/kimi-code/pull/207
    "exceeds limit 4194304",
    "reduce the length of the messages",  # Groq, Cerebras
    "reduce the length of the input",
    "reduce the length of your prompt",
    "less than max_seq_len",  # SiliconFlow
    "exceed max message tokens",  # Volcengine
    "`inputs` must have less than",  # Hugging Face's text generation
    "`inputs` tokens + `max_new_tokens`",
    "inputs + max_new_tokens must be",
    "tokens in the prompt cannot exceed",  # Cohere
    "contextwindowexceedederror",  # litellm's proxy
    "model_context_window_exceeded",
    "request_too_large",  # Anthropic, in bytes
    "request entity too large",
    "payload too large",
    "request body too large",  # GitHub Models
    "tokens_limit_reached",
    "extra usage is required for long context",  # Anthropic's plans (429)
    "long context beta is not yet available",
)
# A message that is longer than any of OpenAI's may be. The same words with another field name a cure.
MESSAGE_TOO_LONG = re.compile(r"(?:messages|input)\[\d+\]\.(?:content|output)[^\s:]{0,100}: string too long")
# One request is larger than the allowance of a minute (429, 413), so that waiting cannot help. Sources: the answers of
# OpenAI in github.com/just-every/code/issues/421, of Groq in github.com/continuedev/continue/issues/11717.
LARGER_THAN_A_MINUTE = ("request too large for", "tokens must be reduced", "reduce your message size")
# Other words, unless they count requests or tokens of a minute, such as Bedrock's "Too many tokens, please wait".
_LENGTH = (
    r"(?:context|window|tokens?|max(?:imum)?[_ ](?:model[_ ]|seq(?:uence)?[_ ]|prompt[_ ]|input[_ ])?len(?:gth)?|n_ctx)"
)
TOO_LONG_IN_OTHER_WORDS = re.compile(
    r"too many (?:input |prompt )?tokens|token limit exceeded|context overflow"
    r"|prompt token count of [\d,]+ exceeds"
    r"|\b(?:request|payload|body)\b[^.]{0,60}\bbytes\b[^.]{0,30}\b(?:over|above|exceed\w*|(?:more|larger) than)\b"
    r"|\b(?:prompt|inputs?|messages|conversation)\b[^.]{0,60}\btokens?\b[^.]{0,40}?"
    r"(?:\btoo (?:long|large|big)\b|\b(?:context|window)(?: length| window| size)? (?:is|of)(?: only)? \d)"
    r"|\b(?:prompt|inputs?|context|conversation|history|messages|request|sequence)\b(?:[^.]|\.\d){0,80}?"
    r"\b(?:too (?:long|large|big)|exceed(?:s|ed|ing)?|(?:longer|larger|greater|more|bigger) than|surpass(?:es|ed)?)\b"
    rf"(?:[^.]|\.\d){{0,80}}?\b{_LENGTH}\b"
)
NOT_TOO_LONG = re.compile(
    r"rate[ _-]?limit|throttl|per[ _]min(?:ute)?\b|\b[rt]pm\b|per[ _]day|quota|too many requests|please wait"
    r"|try again (?:in|after)|string too long|array too long|image|max[_ ](?:completion[_ ]|output[_ ])?tokens"
)

# --- overload -------------------------------------------------------------------------------------------------------
# Errors without a status that says so. Sources: github.com/openai/openai-python/issues/2699 (Azure, in a stream),
# docs.aws.amazon.com/bedrock (ThrottlingException, 400), help.aliyun.com/zh/model-studio/error-code.
OVERLOADED = (
    "too many requests",
    "too_many_requests",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "throttling",
    "overloaded",
    "server is busy",
    "under high load",  # MiniMax: github.com/NousResearch/hermes-agent/issues/10210
    "rate increased too quickly",
    "quota exceeded",
    "at capacity",
    "resource_exhausted",
    "resource has been exhausted",
    "allocated quota exceeded",
)
# The model wrote an invalid call, so a retry may succeed (Groq: github.com/pydantic/pydantic-ai/pull/2774).
INVALID_CALL = ("tool_use_failed",)
# Rejections by llama.cpp's server, which sends them as its own errors (500): tools/server in
# github.com/ggml-org/llama.cpp.
REFUSED_BY_LLAMA_CPP = ("requires --jinja", "jinja exception", "input is not supported", "failed to parse grammar")
