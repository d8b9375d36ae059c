//! From edits to changes of bytes, for the members of the outermost object.

use std::borrow::Cow;

use crate::Dialect;
use crate::json::{JsonError, Kind, Member, Scanner, Span, cuts};
use crate::request::{Conversation, Request, Thinking, key};
use crate::splice::apply::Change;
use crate::splice::{Append, Edits, Effort, MaxTokensName, ThinkingMode, turns};

/// The smallest thinking budget that Anthropic takes, in tokens (its API reference).
const THINKING_BUDGET_MIN: u64 = 1_024;

pub(super) fn plan(request: &Request, edits: &Edits<'_>) -> Result<Vec<Change>, JsonError> {
    let mut plan = Plan::new(request, edits);
    let conversation = turns::plan(request, edits, &mut plan.changes)?;
    if conversation.tool_loop == turns::Loop::WithoutThinking
        && matches!(request.facts().thinking, Thinking::Budget(_))
    {
        plan.drop_named("thinking");
    }
    plan.drop_thinking_without_room();
    plan.rename_max_tokens();
    plan.remove_effort()?;
    for index in 0..request.members().len() {
        if !plan.gone[index] {
            plan.edit_member(index)?;
        }
    }
    plan.set_effort()?;
    plan.ask_usage()?;
    plan.append(conversation.turns);
    Ok(plan.finish())
}

struct Plan<'r> {
    request: &'r Request,
    edits: &'r Edits<'r>,
    text: &'r str,
    names: Vec<Cow<'r, str>>,
    gone: Vec<bool>,
    changes: Vec<Change>,
    added: Vec<String>,
}

impl<'r> Plan<'r> {
    fn new(request: &'r Request, edits: &'r Edits<'r>) -> Self {
        let text = request.text();
        let names: Vec<Cow<'r, str>> =
            request.members().iter().map(|member| key(text, member).decode()).collect();
        let needed = ["model", "messages", "input"];
        let gone = names
            .iter()
            .map(|name| !needed.contains(&&**name) && edits.drop_members.contains(&&**name))
            .collect();
        let mut plan =
            Self { request, edits, text, names, gone, changes: Vec::new(), added: Vec::new() };
        if edits.thinking == ThinkingMode::Remove {
            plan.drop_named("thinking");
        }
        plan
    }

    fn member(&self, index: usize) -> &'r Member {
        &self.request.members()[index]
    }

    fn drop_named(&mut self, name: &str) {
        for (index, found) in self.names.iter().enumerate() {
            self.gone[index] |= found == name;
        }
    }

    /// The members of that name that are left.
    fn left(&self, name: &str) -> Vec<usize> {
        (0..self.names.len()).filter(|&at| !self.gone[at] && self.names[at] == name).collect()
    }

    fn replace(&mut self, at: &Span, with: impl Into<Vec<u8>>) {
        self.changes.push(Change::new(at.clone(), with));
    }

    /// The budget that thinking goes out with, if it is one and changes.
    fn budget(&self) -> Option<u64> {
        let facts = self.request.facts();
        let asked = match (self.edits.thinking, facts.thinking) {
            (ThinkingMode::AdaptiveAsBudget(budget), Thinking::Adaptive) => budget,
            (ThinkingMode::AsWritten | ThinkingMode::AdaptiveAsBudget(_), Thinking::Budget(b)) => b,
            (_, Thinking::Unsaid | Thinking::Off | Thinking::Adaptive | Thinking::Budget(_)) => {
                return None;
            }
        };
        let limit = facts.max_tokens.unwrap_or(u64::MAX);
        let room = limit.min(self.edits.max_tokens_cap.unwrap_or(u64::MAX));
        let clamped = room < limit || matches!(facts.thinking, Thinking::Adaptive);
        Some(if clamped && asked >= room { room - room / 4 } else { asked })
    }

    fn drop_thinking_without_room(&mut self) {
        let written = self.request.facts().thinking;
        if let Some(budget) = self.budget()
            && written != Thinking::Budget(budget)
            && budget < THINKING_BUDGET_MIN
        {
            self.drop_named("thinking");
        }
    }

    fn rename_max_tokens(&mut self) {
        let (from, to) = match self.edits.max_tokens_name {
            MaxTokensName::AsWritten => return,
            MaxTokensName::MaxTokens => ("max_completion_tokens", "max_tokens"),
            MaxTokensName::MaxCompletionTokens => ("max_tokens", "max_completion_tokens"),
        };
        if self.request.dialect() != Dialect::OpenAiChat {
            return;
        }
        if !self.left(to).is_empty() {
            return self.drop_named(from);
        }
        for index in self.left(from) {
            self.replace(&self.member(index).key.clone(), format!("\"{to}\""));
        }
    }

    fn edit_member(&mut self, index: usize) -> Result<(), JsonError> {
        let value = &self.member(index).value;
        match &*self.names[index] {
            "model" => {
                if let Some(model) = self.edits.model {
                    self.replace(value, quoted(model));
                }
            }
            "max_tokens" | "max_completion_tokens" | "max_output_tokens" => {
                if let Some(cap) = self.edits.max_tokens_cap
                    && exceeds(&self.text[value.clone()], cap)
                {
                    self.replace(value, cap.to_string());
                }
            }
            "thinking" => self.edit_thinking(value)?,
            "tools" => self.edit_tools(value)?,
            _ => {}
        }
        Ok(())
    }

    fn edit_thinking(&mut self, value: &Span) -> Result<(), JsonError> {
        let written = self.request.facts().thinking;
        let Some(budget) = self.budget().filter(|&budget| written != Thinking::Budget(budget))
        else {
            return Ok(());
        };
        if matches!(written, Thinking::Budget(_)) {
            return self.set_in(value, "budget_tokens", Some(&budget.to_string()));
        }
        self.replace(value, format!(r#"{{"type":"enabled","budget_tokens":{budget}}}"#));
        Ok(())
    }

    fn edit_tools(&mut self, value: &Span) -> Result<(), JsonError> {
        let names = self.edits.drop_tool_members;
        let mut tools = Scanner::within(self.text, value);
        if names.is_empty() || tools.kind()? != Kind::Array {
            return Ok(());
        }
        for tool in tools.elements()? {
            self.drop_from(&tool, names)?;
        }
        Ok(())
    }

    /// Cuts members out of an object, and out of the `function` in it.
    fn drop_from(&mut self, object: &Span, names: &[&str]) -> Result<(), JsonError> {
        let mut scanner = Scanner::within(self.text, object);
        if scanner.kind()? != Kind::Object {
            return Ok(());
        }
        let members = scanner.members()?;
        let gone = |at: usize| names.contains(&&*key(self.text, &members[at]).decode());
        let cuts = cuts(&extents(&members), gone);
        let functions: Vec<Span> = (0..members.len())
            .filter(|&at| !gone(at) && key(self.text, &members[at]).decode() == "function")
            .map(|at| members[at].value.clone())
            .collect();
        self.changes.extend(cuts.into_iter().map(Change::cut));
        for function in functions {
            self.drop_from(&function, names)?;
        }
        Ok(())
    }

    /// Where the dialect keeps the effort level: a member, and a member of that if nested.
    const fn effort_place(&self) -> (&'static str, Option<&'static str>) {
        match self.request.dialect() {
            Dialect::OpenAiChat => ("reasoning_effort", None),
            Dialect::OpenAiResponses => ("reasoning", Some("effort")),
            Dialect::AnthropicMessages => ("output_config", Some("effort")),
        }
    }

    fn remove_effort(&mut self) -> Result<(), JsonError> {
        if self.edits.effort != Effort::Remove {
            return Ok(());
        }
        match self.effort_place() {
            (outer, None) => self.drop_named(outer),
            (outer, Some(inner)) => {
                for index in self.left(outer) {
                    self.set_in(&self.member(index).value.clone(), inner, None)?;
                }
            }
        }
        Ok(())
    }

    fn set_effort(&mut self) -> Result<(), JsonError> {
        let Effort::Set(level) = self.edits.effort else { return Ok(()) };
        let (outer, inner) = self.effort_place();
        if self.edits.drop_members.contains(&outer) {
            return Ok(());
        }
        self.set(outer, inner, &quoted(level))
    }

    fn ask_usage(&mut self) -> Result<(), JsonError> {
        let facts = self.request.facts();
        let asks = self.edits.ask_usage && facts.stream && !facts.include_usage;
        if !asks || self.request.dialect() != Dialect::OpenAiChat {
            return Ok(());
        }
        self.set("stream_options", Some("include_usage"), "true")
    }

    /// Sets a member, or a member inside it, adding what is not there.
    fn set(&mut self, outer: &str, inner: Option<&str>, json: &str) -> Result<(), JsonError> {
        let places = self.left(outer);
        if places.is_empty() {
            self.added.push(match inner {
                Some(inner) => format!(r#""{outer}":{{"{inner}":{json}}}"#),
                None => format!(r#""{outer}":{json}"#),
            });
        }
        for index in places {
            let value = self.member(index).value.clone();
            match inner {
                Some(inner) => self.set_in(&value, inner, Some(json))?,
                None => self.replace(&value, json),
            }
        }
        Ok(())
    }

    /// Sets or removes a member of the object at `object`.
    fn set_in(&mut self, object: &Span, name: &str, json: Option<&str>) -> Result<(), JsonError> {
        let mut scanner = Scanner::within(self.text, object);
        if scanner.kind()? != Kind::Object {
            if let Some(json) = json {
                self.replace(object, format!(r#"{{"{name}":{json}}}"#));
            }
            return Ok(());
        }
        let members = scanner.members()?;
        let text = self.text;
        let named = |at: usize| key(text, &members[at]).decode() == name;
        let Some(json) = json else {
            self.changes.extend(cuts(&extents(&members), named).into_iter().map(Change::cut));
            return Ok(());
        };
        let places: Vec<usize> = (0..members.len()).filter(|&at| named(at)).collect();
        for &at in &places {
            self.replace(&members[at].value, json);
        }
        if places.is_empty() {
            let comma = if members.is_empty() { "" } else { "," };
            let end = members.last().map_or(object.start + 1, |member| member.value.end);
            self.replace(&(end..end), format!(r#"{comma}"{name}":{json}"#));
        }
        Ok(())
    }

    /// R9: after the original messages, none of which changes.
    fn append(&mut self, kept: usize) {
        let Some(Append { times, text }) = self.edits.append.filter(|append| append.times > 0)
        else {
            return;
        };
        let turn = format!(r#"{{"role":"user","content":{}}}"#, quoted(text));
        let appended = vec![turn; usize::from(times)].join(",");
        match self.request.conversation() {
            Conversation::Turns { array, turns } => {
                let comma = if kept == 0 { "" } else { "," };
                let end = turns.last().map_or(array.start + 1, |turn| turn.end);
                self.replace(&(end..end), format!("{comma}{appended}"));
            }
            Conversation::Text(span) => {
                self.replace(&(span.start..span.start), r#"[{"role":"user","content":"#);
                self.replace(&(span.end..span.end), format!("}},{appended}]"));
            }
        }
    }

    fn finish(mut self) -> Vec<Change> {
        let members = self.request.members();
        let cuts = cuts(&extents(members), |at| self.gone[at]);
        self.changes.extend(cuts.into_iter().map(Change::cut));
        if let Some(last) = members.last().filter(|_| !self.added.is_empty()) {
            // Model and conversation always stay, so a comma is due.
            let end = last.value.end;
            self.changes.push(Change::new(end..end, format!(",{}", self.added.join(","))));
        }
        self.changes
    }
}

pub(super) fn extents(members: &[Member]) -> Vec<Span> {
    members.iter().map(|member| member.key.start..member.value.end).collect()
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a JSON number is above `cap`, however it is written.
fn exceeds(number: &str, cap: u64) -> bool {
    number.parse::<u64>().map_or_else(
        |_| number.parse::<f64>().is_ok_and(|value| value > cap as f64),
        |value| value > cap,
    )
}
