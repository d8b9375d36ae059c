//! What is left when nothing said more: words of breakage, then the bare status.

use ekiden_engine::class::Class;

use super::Rule;

/// The table.
pub(super) const RULES: &[Rule] = &[
    Rule::new("took-too-long", Class::Timeout)
        .words(&[
            "timed out",
            "etimedout",
            "timeout",
            "time-out",
            "time out",
            "deadline exceeded",
            "deadline_exceeded",
            "took too long",
            "did not respond in time",
            "didn't respond in time",
            "no response within",
            "超时",
        ])
        .codes(&[
            "timeout",
            "timeout_error",
            "request_timeout",
            "DEADLINE_EXCEEDED",
            "ModelTimeoutException",
            "minimax:1001",
            "gateway_timeout",
            "RequestTimeOut",
            "APITimeoutError",
            "TIMEOUT",
            "upstream_timeout",
            "GatewayTimeout",
            "response_timeout",
        ])
        .statuses(&[(0, 0), (200, 200), (400, 400), (408, 408), (425, 521), (523, 599)])
        .cites(&["timeout-001", "timeout-004", "timeout-005", "timeout-006"]),
    Rule::new("nothing-said", Class::EmptyResponse)
        .words(&[
            "empty response",
            "empty model response",
            "empty answer",
            "empty completion",
            "empty message",
            "empty content",
            "returned no content",
            "returned no response",
            "returned no output",
            "returned no text",
            "no output generated",
            "no content generated",
            "response is empty",
            "response was empty",
            "empty text",
            "no content in response",
            "without any content",
            "without content",
            "produced no",
            "generated no",
            "no choices",
            "no message",
            "空响应",
            "空回复",
            "为空",
            "model output must contain either output text or tool calls",
            "no response from model",
            "no response was returned",
            "contains no content",
            "did not return any",
            "did not provide any",
            "no generation chunks",
            "without any chunks",
            "empty response text",
            "malformed function call",
            "no choices returned",
            "didn't return any",
            "no candidates",
        ])
        .codes(&[
            "EMPTY_RESPONSE",
            "empty_response_error",
            "empty_stream",
            "channel:empty_response",
        ])
        .unless(&["empty reply from server"])
        .statuses(&[(0, 0), (200, 200), (500, 503)])
        .cites(&["host-006", "https://ai-sdk.dev/docs/reference/ai-sdk-errors/ai-no-output-generated-error"]),
    Rule::new("broken-behind", Class::ServerError)
        .words(&[
            "upstream*closed",
            "upstream*disconnect",
            "upstream connect error",
            "upstream*reset",
            "upstream request failed",
            "upstream error",
            "upstream service",
            "upstream prematurely",
            "upstream*unavailable",
            "upstream provider",
            "requires more system memory",
            "out of memory",
            "cuda error",
            "an error occurred while processing",
            "error while processing your request",
            "the server had an error",
            "server_error",
            "internal server error",
            "internal error",
            "internalerror",
            "internal_error",
            "something went wrong",
            "unexpected error",
            "unknown error",
            "bad gateway",
            "bad response",
            "connection refused",
            "connection reset",
            "temporary failure in name resolution",
            "network error",
            "网络错误",
            "内部错误",
            "服务异常",
            "系统异常",
            "服务器错误",
            "服务错误",
            "系统错误",
            "未知错误",
            "server error",
            "service error",
            "api_error",
            "unhandled",
            "exploded",
            "processing error",
            "llama runner process",
            "provider returned error",
            "do request failed",
            "stream_read_error",
        ])
        .codes(&[
            "server_error",
            "internal_error",
            "internal_server_error",
            "InternalServerError",
            "InternalError",
            "InternalServerException",
            "api_error",
            "upstream_error",
            "INTERNAL",
            "minimax:1000",
            "minimax:1013",
            "minimax:1024",
            "minimax:1033",
            "baidu:1",
            "baidu:2",
            "baidu:336000",
            "500",
            "bad_response_status_code",
            "do_request_failed",
            "ModelStreamErrorException",
            "ModelErrorException",
            "InternalServiceError",
            "SERVER",
            "upstream_disconnect",
            "conflict",
            "InternalError.Algo",
            "processing_error",
            "RequestCanceled",
            "invalid_response",
            "bad_response_body",
            "read_response_body_failed",
            "MALFORMED_RESPONSE",
            "SystemError",
            "ERR_BAD_RESPONSE",
        ])
        .statuses(&[(0, 0), (200, 200), (400, 400), (409, 409), (424, 425), (499, 599)])
        .unless(&["service unavailable", "currently unavailable", "temporarily unavailable"])
        .cites(&["host-002", "server_error-002", "server_error-003", "server_error-004"]),
    Rule::new("unavailable", Class::Overloaded)
        .words(&[
            "service unavailable",
            "temporarily unavailable",
            "currently unavailable",
            "service_unavailable",
            "服务不可用",
            "暂时不可用",
            "暂不可用",
        ])
        .codes(&[
            "UNAVAILABLE",
            "service_unavailable",
            "ServiceUnavailableException",
            "ServiceUnavailable",
            "service_unavailable_error",
            "ServiceUnavailableError",
        ])
        .statuses(&[(0, 0), (200, 200), (500, 500), (503, 503), (529, 529)])
        .cites(&["https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html", "https://cloud.google.com/apis/design/errors"]),
    Rule::new("status-timeout", Class::Timeout)
        .statuses(&[(408, 408), (504, 504), (524, 524)])
        .cites(&["https://docs.anthropic.com/en/api/errors", "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/"]),
    Rule::new("status-auth", Class::Auth)
        .statuses(&[(401, 401), (403, 403), (407, 407), (451, 451), (511, 511)])
        .cites(&["auth-015", "https://docs.anthropic.com/en/api/errors"]),
    Rule::new("status-money", Class::QuotaExhausted).statuses(&[(402, 402)]).cites(&["https://api-docs.deepseek.com/quick_start/error_codes", "https://openrouter.ai/docs/api-reference/errors"]),
    Rule::new("status-not-found", Class::NotFound).statuses(&[(404, 404), (410, 410)]).cites(&["https://docs.anthropic.com/en/api/errors", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"]),
    Rule::new("status-conflict", Class::ServerError)
        .statuses(&[(409, 409), (424, 425), (499, 499)])
        .cites(&["server_error-090", "server_error-091", "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html"]),
    Rule::new("status-rate", Class::RateLimited)
        .statuses(&[(429, 429)])
        .or_quota_after_an_hour()
        .cites(&["rate_limited-023", "https://platform.openai.com/docs/guides/error-codes/api-errors"]),
    Rule::new("status-busy", Class::Overloaded)
        .statuses(&[(503, 503), (529, 529), (498, 498)])
        .cites(&["https://platform.openai.com/docs/guides/error-codes/api-errors", "https://docs.anthropic.com/en/api/errors"]),
    Rule::new("status-broken", Class::ServerError).statuses(&[(500, 599)]).cites(&["https://platform.openai.com/docs/guides/error-codes/api-errors", "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/"]),
    Rule::new("status-refused", Class::InvalidRequest).statuses(&[(400, 499)]).cites(&["https://docs.anthropic.com/en/api/errors", "https://api-docs.deepseek.com/quick_start/error_codes"]),
];
