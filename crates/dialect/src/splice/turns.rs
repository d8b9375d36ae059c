//! Changes inside the conversation: roles, and thinking that another issuer made (G6).
//!
//! It refuses to touch what people, models and tools said.

use std::borrow::Cow;

use crate::Dialect;
use crate::json::{JsonError, Kind, Member, Scanner, Span, cuts};
use crate::request::{Conversation, Request, key};
use crate::splice::apply::Change;
use crate::splice::plan::extents;
use crate::splice::{Edits, ThinkingBlocks};

/// What is left of the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// The tool loop in which it ends.
    pub(super) tool_loop: Loop,
    /// How many of its turns stay.
    pub(super) turns: usize,
}

/// What is left of the tool loop that the conversation ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loop {
    /// Nothing was taken from it, or there is none.
    Untouched,
    /// Its assistant turn lost its thinking: a vendor that is asked to think with a budget refuses
    /// such a turn, so the request must not ask.
    WithoutThinking,
}

/// One turn, as far as it matters here.
struct Turn<'t> {
    members: Vec<Member>,
    role: Option<(Span, Cow<'t, str>)>,
    content: Option<Span>,
}

pub(super) fn plan(
    request: &Request,
    edits: &Edits<'_>,
    changes: &mut Vec<Change>,
) -> Result<Outcome, JsonError> {
    let untouched =
        Outcome { tool_loop: Loop::Untouched, turns: request.conversation().turns().len() };
    let Conversation::Turns { turns: spans, .. } = request.conversation() else {
        return Ok(untouched);
    };
    if !may_change(request, edits) {
        return Ok(untouched);
    }
    let text = request.text();
    let turns =
        spans.iter().map(|span| Turn::read(text, span)).collect::<Result<Vec<_>, JsonError>>()?;
    let mut planner = Planner { text, edits, spans, turns: &turns, changes, lost_thinking: None };
    let mut gone = vec![false; turns.len()];
    for (index, gone) in gone.iter_mut().enumerate() {
        *gone = match request.dialect() {
            Dialect::AnthropicMessages => planner.anthropic(index)?,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => planner.openai(index),
        };
    }
    let last_assistant = turns.iter().rposition(|turn| turn.is("assistant"));
    let broken = planner.lost_thinking.is_some()
        && planner.lost_thinking == last_assistant
        && turns.last().map(|turn| turn.holds(text, "tool_result")).transpose()?.unwrap_or(false);
    changes.extend(cuts(spans, |at| gone[at]).into_iter().map(Change::cut));
    Ok(Outcome {
        tool_loop: if broken { Loop::WithoutThinking } else { Loop::Untouched },
        turns: gone.iter().filter(|gone| !**gone).count(),
    })
}

/// Whether anything stands there that the edits are about: most conversations are not read again.
const fn may_change(request: &Request, edits: &Edits<'_>) -> bool {
    let marks = request.marks();
    let strips = !matches!(edits.thinking_blocks, ThinkingBlocks::Keep);
    let as_system = edits.developer_as_system && marks.developer;
    match request.dialect() {
        Dialect::AnthropicMessages => {
            strips && marks.thinking || edits.system_turns_as_user && marks.system
        }
        Dialect::OpenAiChat => edits.drop_reasoning_content && marks.under_way || as_system,
        Dialect::OpenAiResponses => as_system,
    }
}

struct Planner<'p> {
    text: &'p str,
    edits: &'p Edits<'p>,
    spans: &'p [Span],
    turns: &'p [Turn<'p>],
    changes: &'p mut Vec<Change>,
    /// The last turn that lost a thinking block.
    lost_thinking: Option<usize>,
}

impl Planner<'_> {
    /// Whether the turn goes.
    fn anthropic(&mut self, index: usize) -> Result<bool, JsonError> {
        let turn = &self.turns[index];
        if turn.is("assistant") {
            return self.strip_thinking(index);
        }
        if !(turn.is("system") && self.edits.system_turns_as_user) {
            return Ok(false);
        }
        let Some((role, _)) = &turn.role else { return Ok(false) };
        let Some(behind) = self.results_behind(index)? else {
            self.changes.push(Change::new(role.clone(), r#""user""#));
            return Ok(false);
        };
        // Tool results must follow their calls at once: the text moves behind them.
        let span = &self.spans[index];
        let moved = [",", &self.text[span.start..role.start], r#""user""#]
            .into_iter()
            .chain([&self.text[role.end..span.end]])
            .collect::<String>();
        let end = self.spans[behind].end;
        self.changes.push(Change::new(end..end, moved));
        Ok(true)
    }

    /// The turn with tool results that a system turn keeps from the calls before it.
    fn results_behind(&self, index: usize) -> Result<Option<usize>, JsonError> {
        let before = self.turns[..index].iter().rev().find(|turn| !turn.is("system"));
        let behind = (index + 1..self.turns.len()).find(|&at| !self.turns[at].is("system"));
        let (Some(before), Some(behind)) = (before, behind) else { return Ok(None) };
        let split = before.is("assistant") && self.turns[behind].holds(self.text, "tool_result")?;
        Ok(split.then_some(behind))
    }

    /// Whether nothing is left of the turn.
    fn strip_thinking(&mut self, index: usize) -> Result<bool, JsonError> {
        let Some(content) = &self.turns[index].content else { return Ok(false) };
        let mut scanner = Scanner::within(self.text, content);
        if scanner.kind()? != Kind::Array {
            return Ok(false);
        }
        let blocks = scanner.elements()?;
        let mut gone = Vec::with_capacity(blocks.len());
        for block in &blocks {
            gone.push(self.is_foreign(block)?);
        }
        if !gone.contains(&true) {
            return Ok(false);
        }
        self.lost_thinking = Some(index);
        if !gone.contains(&false) {
            return Ok(true);
        }
        self.changes.extend(cuts(&blocks, |at| gone[at]).into_iter().map(Change::cut));
        Ok(false)
    }

    fn is_foreign(&self, block: &Span) -> Result<bool, JsonError> {
        let (mut kind, mut mark) = (None, None);
        Scanner::within(self.text, block).object_or_skip(|inner, key| {
            match &*key.decode() {
                "type" => kind = inner.text_or_skip()?,
                "signature" | "data" => mark = inner.text_or_skip()?.or(mark),
                _ => inner.pass()?,
            }
            Ok(())
        })?;
        let kind = kind.map(|kind| kind.decode());
        if !matches!(kind.as_deref(), Some("thinking" | "redacted_thinking")) {
            return Ok(false);
        }
        Ok(match self.edits.thinking_blocks {
            ThinkingBlocks::Keep => false,
            ThinkingBlocks::Strip => true,
            ThinkingBlocks::KeepIf(own) => !mark.is_some_and(|mark| own(&mark.decode())),
        })
    }

    /// Chat and Responses turns never go.
    fn openai(&mut self, index: usize) -> bool {
        let turn = &self.turns[index];
        if self.edits.developer_as_system
            && let Some((role, name)) = &turn.role
            && name == "developer"
        {
            self.changes.push(Change::new(role.clone(), r#""system""#));
        }
        if self.edits.drop_reasoning_content && turn.is("assistant") {
            let gone =
                |at: usize| key(self.text, &turn.members[at]).decode() == "reasoning_content";
            let cuts = cuts(&extents(&turn.members), gone);
            self.changes.extend(cuts.into_iter().map(Change::cut));
        }
        false
    }
}

impl<'t> Turn<'t> {
    fn read(text: &'t str, span: &Span) -> Result<Self, JsonError> {
        let mut scanner = Scanner::within(text, span);
        let mut turn = Self { members: Vec::new(), role: None, content: None };
        if scanner.kind()? != Kind::Object {
            return Ok(turn);
        }
        turn.members = scanner.members()?;
        for member in &turn.members {
            match &*key(text, member).decode() {
                "role" => {
                    let role = Scanner::within(text, &member.value).text_or_skip()?;
                    turn.role = role.map(|role| (member.value.clone(), role.decode()));
                }
                "content" => turn.content = Some(member.value.clone()),
                _ => {}
            }
        }
        Ok(turn)
    }

    fn is(&self, role: &str) -> bool {
        self.role.as_ref().is_some_and(|(_, name)| name == role)
    }

    /// Whether the content has a block of that type.
    fn holds(&self, text: &str, wanted: &str) -> Result<bool, JsonError> {
        let mut found = false;
        if let Some(content) = &self.content {
            Scanner::within(text, content).array_or_skip(|blocks| {
                blocks.object_or_skip(|block, key| {
                    if key.decode() == "type" {
                        found |= block.text_or_skip()?.is_some_and(|kind| kind.decode() == wanted);
                        return Ok(());
                    }
                    block.pass()
                })
            })?;
        }
        Ok(found)
    }
}
