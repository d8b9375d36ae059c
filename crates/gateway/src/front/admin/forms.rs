//! What bodies look like, for those who sent another. It refuses to be the schema, which the
//! document has.

use ekiden_config::{Language, say};

/// A body of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Pause,
    Release,
    DryRun,
    Token,
    Rescan,
    Changes,
    Key,
    NewQueue,
    QueueOrder,
    QueueChange,
    Import,
}

impl Form {
    /// The code of a body that does not fit.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Release => "bad_release",
            Self::Pause
            | Self::DryRun
            | Self::Token
            | Self::Rescan
            | Self::Changes
            | Self::Key
            | Self::NewQueue
            | Self::QueueOrder
            | Self::QueueChange
            | Self::Import => "bad_body",
        }
    }

    /// What to write.
    pub(super) fn wanted(self, language: Language) -> String {
        match self {
            Self::Pause => say!(
                language,
                "write {\"session\": KEY}, or {} for everybody",
                "请写 {\"session\": KEY}；对所有会话则写 {}",
            ),
            Self::Release => say!(
                language,
                "write {\"session\": KEY}, {\"session\": KEY, \"queue\": ID, \"route\": \"provider/model\"}, {\"route\": \"provider/model\"} or {\"all\": true}",
                "请写 {\"session\": KEY}、{\"session\": KEY, \"queue\": ID, \"route\": \"provider/model\"}、{\"route\": \"provider/model\"} 或 {\"all\": true}",
            ),
            Self::DryRun => say!(
                language,
                "write a call such as {\"session\": KEY, \"input_tokens\": 1000}, or {}",
                "请写一次请求，例如 {\"session\": KEY, \"input_tokens\": 1000}，或写 {}",
            ),
            Self::Token => say!(
                language,
                "write {\"name\": TEXT, \"scope\": \"client\" or \"admin\"}, with `queues` and `calls_max` if wished",
                "请写 {\"name\": TEXT, \"scope\": \"client\" 或 \"admin\"}，还可以写 `queues` 和 `calls_max`",
            ),
            Self::Rescan => say!(
                language,
                "write {\"providers\": [ID]}, or {} for all",
                "请写 {\"providers\": [ID]}；对全部提供方则写 {}",
            ),
            Self::Changes => say!(
                language,
                "write {\"changes\": [{\"do\": \"set\", \"path\": PATH, \"value\": VALUE}]}",
                "请写 {\"changes\": [{\"do\": \"set\", \"path\": PATH, \"value\": VALUE}]}",
            ),
            Self::Key => say!(language, "write {\"key\": TEXT}", "请写 {\"key\": TEXT}"),
            Self::NewQueue => say!(
                language,
                "write {\"name\": TEXT, \"id\": ID, \"routes\": [ROUTE]}, the last two if wished",
                "请写 {\"name\": TEXT, \"id\": ID, \"routes\": [ROUTE]}，后两项可以不写",
            ),
            Self::QueueOrder => {
                say!(language, "write {\"order\": [ID]}", "请写 {\"order\": [ID]}")
            }
            Self::QueueChange => say!(
                language,
                "write {\"name\": TEXT} or {\"order\": [ROUTE]}",
                "请写 {\"name\": TEXT} 或 {\"order\": [ROUTE]}",
            ),
            Self::Import => say!(
                language,
                "write what GET /api/v1/export gives",
                "请写 GET /api/v1/export 给出的内容",
            ),
        }
    }
}
