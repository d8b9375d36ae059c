//! What is said about queues.

use crate::terminal::Say;

/// What was done.
pub(super) enum Done<'a> {
    Made { id: String },
    Renamed { id: &'a str, name: &'a str },
    Deleted { id: &'a str, count: usize },
    Kept,
    Added { queue: &'a str, route: &'a str },
    Removed { queue: &'a str, route: &'a str },
    Moved { queue: &'a str, route: &'a str, place: usize },
    Ordered { ids: String },
    Exported { path: String },
    Imported { ids: String },
}

impl Say for Done<'_> {
    fn english(&self) -> String {
        match self {
            Self::Made { id } => format!("queue {id} is there; clients ask for it by this id"),
            Self::Renamed { id, name } => format!("queue {id} is now called {name}"),
            Self::Deleted { id, count } => {
                format!("queue {id} is gone, {} with it", candidates(*count))
            }
            Self::Kept => "nothing was deleted".to_owned(),
            Self::Added { queue, route } => format!("{route} is in {queue}"),
            Self::Removed { queue, route } => format!("{route} is out of {queue}"),
            Self::Moved { queue, route, place } => {
                format!("{route} is in {queue} at place {place}")
            }
            Self::Ordered { ids } => format!("the queues stand in this order: {ids}"),
            Self::Exported { path } => format!("written to {path}"),
            Self::Imported { ids } if ids.is_empty() => "there was nothing to import".to_owned(),
            Self::Imported { ids } => format!("imported as {ids}"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::Made { id } => format!("已新建队列 {id}；客户端用这个 id 请求它"),
            Self::Renamed { id, name } => format!("队列 {id} 已改名为 {name}"),
            Self::Deleted { id, count } => format!("已删除队列 {id} 及其 {count} 个候选"),
            Self::Kept => "没有删除".to_owned(),
            Self::Added { queue, route } => format!("已把 {route} 加入 {queue}"),
            Self::Removed { queue, route } => format!("已把 {route} 移出 {queue}"),
            Self::Moved { queue, route, place } => {
                format!("{route} 现为 {queue} 的第 {place} 位")
            }
            Self::Ordered { ids } => format!("队列顺序：{ids}"),
            Self::Exported { path } => format!("已写入 {path}"),
            Self::Imported { ids } if ids.is_empty() => "没有可导入的队列".to_owned(),
            Self::Imported { ids } => format!("已导入：{ids}"),
        }
    }
}

fn candidates(count: usize) -> String {
    if count == 1 { "1 candidate".to_owned() } else { format!("{count} candidates") }
}

/// What is asked before something is done.
pub(super) enum Asks {
    Delete { id: String, count: usize },
}

impl Say for Asks {
    fn english(&self) -> String {
        let Self::Delete { id, count } = self;
        format!("Delete queue {id} with {}? [y/N] ", candidates(*count))
    }

    fn chinese(&self) -> String {
        let Self::Delete { id, count } = self;
        format!("删除队列 {id} 及其 {count} 个候选？[y/N] ")
    }
}

/// What is wrong.
pub(super) enum Wrong {
    NoQueue { id: String },
    NoCandidate { queue: String, route: String },
    NotConfirmed { id: String, count: usize },
    NoJson { path: String, why: String },
    File { path: String, why: String },
}

impl Say for Wrong {
    fn english(&self) -> String {
        match self {
            Self::NoQueue { id } => format!("no queue `{id}` is known"),
            Self::NoCandidate { queue, route } => format!("`{route}` is not in {queue}"),
            Self::NotConfirmed { id, count } => {
                format!("{} would go with queue {id}", candidates(*count))
            }
            Self::NoJson { path, why } => format!("{path} is no export: {why}"),
            Self::File { path, why } => format!("{path}: {why}"),
        }
    }

    fn chinese(&self) -> String {
        match self {
            Self::NoQueue { id } => format!("没有队列 `{id}`"),
            Self::NoCandidate { queue, route } => format!("{queue} 中没有 `{route}`"),
            Self::NotConfirmed { id, count } => format!("队列 {id} 的 {count} 个候选会一并删除"),
            Self::NoJson { path, why } => format!("{path} 不是导出文件：{why}"),
            Self::File { path, why } => format!("{path}：{why}"),
        }
    }
}

/// What to do about it.
pub(super) enum Hint {
    ListQueues,
    SayYes,
    ExportGives,
}

impl Say for Hint {
    fn english(&self) -> String {
        match self {
            Self::ListQueues => "`ekiden queue list` shows queues and candidates",
            Self::SayYes => "say --yes if that is meant",
            Self::ExportGives => "give it what `ekiden queue export` wrote",
        }
        .to_owned()
    }

    fn chinese(&self) -> String {
        match self {
            Self::ListQueues => "`ekiden queue list` 列出队列与候选",
            Self::SayYes => "确实如此请加 --yes",
            Self::ExportGives => "请使用 `ekiden queue export` 写出的文件",
        }
        .to_owned()
    }
}
