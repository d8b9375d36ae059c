//! Aliases and prices: sections whose keys are names of the user's own.

use super::{Found, Words, meant_text};
use crate::check::ENTRY_MAX_CHARS;
use crate::price::Price;
use crate::say;
use crate::say::Language;

/// What is wrong with an alias or a price.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NamedMistake {
    AliasType {
        alias: String,
        found: Found,
    },
    AliasLost {
        alias: String,
        queue: String,
        near: Option<String>,
        queues: Vec<String>,
    },
    /// Too long, empty, or more than one line.
    AliasLine {
        alias: String,
    },
    AliasIsQueue {
        alias: String,
    },
    AliasCovers {
        alias: String,
        queue: String,
    },
    PriceRoute {
        written: String,
    },
    PriceBounds {
        route: String,
    },
    PriceForm {
        route: String,
    },
}

impl Words for NamedMistake {
    fn code(&self) -> &'static str {
        match self {
            Self::AliasType { .. } => "wrong_type",
            Self::AliasLost { .. } => "alias_lost",
            Self::AliasLine { .. } => "no_line",
            Self::AliasIsQueue { .. } => "alias_is_queue",
            Self::AliasCovers { .. } => "alias_covers_queue",
            Self::PriceRoute { .. } => "no_route",
            Self::PriceBounds { .. } => "out_of_bounds",
            Self::PriceForm { .. } => "bad_price",
        }
    }

    fn message(&self, language: Language) -> String {
        match self {
            Self::AliasType { alias, found } => say!(
                language,
                "alias `{alias}` has the wrong type: {found}",
                "别名 `{alias}` 的类型不对：{found}",
                alias,
                found = found.say(language),
            ),
            Self::AliasLost { alias, queue, .. } => say!(
                language,
                "alias `{alias}` leads to no queue: {queue}",
                "别名 `{alias}` 指向的队列不存在：{queue}",
                alias,
                queue,
            ),
            Self::AliasLine { alias } => {
                say!(language, "`{alias}` is no alias", "`{alias}` 不能作别名", alias)
            }
            Self::AliasIsQueue { alias } => say!(
                language,
                "alias `{alias}` is the id of a queue",
                "别名 `{alias}` 是一个队列的 id",
                alias,
            ),
            Self::AliasCovers { alias, queue } => say!(
                language,
                "alias `{alias}` also covers the queue `{queue}`",
                "别名 `{alias}` 也覆盖了队列 `{queue}`",
                alias,
                queue,
            ),
            Self::PriceRoute { written } => {
                say!(language, "`{written}` is no route", "`{written}` 不是线路", written)
            }
            Self::PriceBounds { route } => say!(
                language,
                "the price of `{route}` is out of bounds",
                "`{route}` 的价格超出范围",
                route,
            ),
            Self::PriceForm { route } => say!(
                language,
                "the price of `{route}` is not written as a price",
                "`{route}` 的价格写法不对",
                route,
            ),
        }
    }

    fn hint(&self, language: Language) -> Option<String> {
        Some(match self {
            Self::AliasType { .. } => say!(
                language,
                "write `\"claude-*\" = \"default\"`, with a queue's id on the right",
                "请写成 `\"claude-*\" = \"default\"`，右边是队列的 id",
            ),
            Self::AliasLost { near: Some(near), .. } => meant_text(language, near),
            Self::AliasLost { near: None, queues, .. } => say!(
                language,
                "the queues are: {queues}",
                "现有的队列：{queues}",
                queues = language.list(queues),
            ),
            Self::AliasLine { .. } => say!(
                language,
                "an alias is one line of 1 to {most} characters",
                "别名应为一行，1 到 {most} 个字符",
                most = ENTRY_MAX_CHARS,
            ),
            Self::AliasIsQueue { .. } => say!(
                language,
                "a queue's id comes first (R1), so this alias would never be used: take it out",
                "队列的 id 优先（R1），这个别名永远用不到：请去掉它",
            ),
            Self::AliasCovers { queue, .. } => say!(
                language,
                "a queue's id comes first (R1): `{queue}` stays `{queue}`",
                "队列的 id 优先（R1）：`{queue}` 仍是 `{queue}`",
                queue,
            ),
            Self::PriceRoute { .. } => say!(
                language,
                "a price is that of a route: write \"provider/model\" in quotes",
                "价格是线路的价格：请带引号写 \"provider/model\"",
            ),
            Self::PriceBounds { .. } => say!(
                language,
                "an amount is from 0 to 1000000, with at most nine digits behind the point",
                "金额从 0 到 1000000，小数点后最多九位",
            ),
            Self::PriceForm { .. } => say!(
                language,
                "write what a million tokens cost, such as \"{example}\"",
                "请写每百万词元的价格，例如 \"{example}\"",
                example = Price::EXAMPLE,
            ),
        })
    }
}
