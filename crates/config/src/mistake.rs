//! What can be wrong with a configuration, as values: the words are made of them, in the language of
//! whoever reads. Refuses to hold a credential: what was written is masked before it comes here.

mod edits;
mod files;
mod keys;
mod named;
mod providers;
mod queues;
mod values;

pub(crate) use edits::{Absent, EditMistake, Known};
pub(crate) use files::FileMistake;
pub(crate) use keys::{Elsewhere, KeyAdvice, KeyMistake};
pub(crate) use named::NamedMistake;
pub(crate) use providers::{AddressFault, FoundMistake, KeyFault, ProviderMistake};
pub(crate) use queues::{
    CandidateMistake, Contained, IdOf, ProviderAdvice, QueueMistake, Unspoken,
};
pub(crate) use values::{Found, Misfit, TextFault, expectation};

use crate::say;
use crate::say::Language;

/// One thing that is wrong: a code, what is wrong, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake(Which);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Which {
    Value(Misfit),
    /// A value of an environment variable.
    Variable(&'static str, Misfit),
    Key(KeyMistake),
    Candidate(CandidateMistake),
    Queue(QueueMistake),
    Provider(ProviderMistake),
    Found(FoundMistake),
    Named(NamedMistake),
    File(FileMistake),
    Absent(Absent),
    Edit(EditMistake),
}

/// A group of mistakes.
pub(crate) trait Words {
    /// For programs; it does not change with the words.
    fn code(&self) -> &'static str;
    /// What is wrong.
    fn message(&self, language: Language) -> String;
    /// What to do; `None`: the message says it.
    fn hint(&self, language: Language) -> Option<String>;
}

impl Mistake {
    /// For programs: it stays when the words are changed.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.words().code()
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self, language: Language) -> String {
        let message = self.words().message(language);
        match &self.0 {
            Which::Variable(variable, _) => say!(
                language,
                "environment variable {variable}: {message}",
                "环境变量 {variable}：{message}",
                variable,
                message,
            ),
            Which::Value(_)
            | Which::Key(_)
            | Which::Candidate(_)
            | Which::Queue(_)
            | Which::Provider(_)
            | Which::Found(_)
            | Which::Named(_)
            | Which::File(_)
            | Which::Absent(_)
            | Which::Edit(_) => message,
        }
    }

    /// What to do; `None`: nothing more than the message says.
    #[must_use]
    pub fn hint(&self, language: Language) -> Option<String> {
        self.words().hint(language)
    }

    /// Whether it says that no provider was found (G8).
    pub(crate) const fn is_nothing_found(&self) -> bool {
        matches!(self.0, Which::Found(FoundMistake::NoProvider { .. }))
    }

    pub(crate) const fn of_variable(variable: &'static str, misfit: Misfit) -> Self {
        Self(Which::Variable(variable, misfit))
    }

    fn words(&self) -> &dyn Words {
        match &self.0 {
            Which::Value(words) | Which::Variable(_, words) => words,
            Which::Key(words) => words,
            Which::Candidate(words) => words,
            Which::Queue(words) => words,
            Which::Provider(words) => words,
            Which::Found(words) => words,
            Which::Named(words) => words,
            Which::File(words) => words,
            Which::Absent(words) => words,
            Which::Edit(words) => words,
        }
    }
}

macro_rules! groups {
    ($($variant:ident: $group:ty),+ $(,)?) => { $(
        impl From<$group> for Mistake {
            fn from(words: $group) -> Self {
                Self(Which::$variant(words))
            }
        }
    )+ };
}

groups! {
    Value: Misfit,
    Key: KeyMistake,
    Candidate: CandidateMistake,
    Queue: QueueMistake,
    Provider: ProviderMistake,
    Found: FoundMistake,
    Named: NamedMistake,
    File: FileMistake,
    Absent: Absent,
    Edit: EditMistake,
}

/// The name that was probably meant.
fn meant(language: Language, near: &str) -> String {
    say!(language, "did you mean `{near}`?", "是否想写 `{near}`？", near)
}

/// The text that was probably meant.
fn meant_text(language: Language, near: &str) -> String {
    say!(language, "did you mean \"{near}\"?", "是否想写 \"{near}\"？", near)
}
