//! Arguments and exit codes of the demonstration graphs.

use std::convert::Infallible;

use clap::Args;
use superstep_app::Exit;
use superstep_workflows::demo::approval::{Letter, LetterUpdate};
use superstep_workflows::demo::essay::{Draft, DraftUpdate, Review};
use superstep_workflows::demo::map_reduce::{Book, BookUpdate};

#[derive(Args)]
pub(crate) struct LetterArgs {
    /// The recipient of the letter
    #[arg(long, value_name = "NAME", default_value = "Ada")]
    to: String,
}

pub(crate) fn letter(args: LetterArgs) -> Result<LetterUpdate, Infallible> {
    Ok(Letter::update().to(args.to))
}

pub(crate) fn letter_ends(letter: &Letter) -> Exit {
    if letter.is_sent { Exit::Finished } else { Exit::Rejected }
}

#[derive(Args)]
pub(crate) struct EssayArgs {
    /// The topic of the essay
    #[arg(long, default_value = "tides")]
    topic: String,
}

pub(crate) fn essay(args: EssayArgs) -> Result<DraftUpdate, Infallible> {
    Ok(Draft::update().topic(args.topic))
}

pub(crate) fn essay_ends(draft: &Draft) -> Exit {
    match draft.review {
        Some(Review::Verdict(false)) => Exit::Rejected,
        Some(Review::Verdict(true) | Review::Again { .. }) | None => Exit::Finished,
    }
}

#[derive(Args)]
pub(crate) struct BookArgs {
    /// The text of a chapter; repeat it for each chapter
    #[arg(long = "chapter", value_name = "TEXT")]
    #[arg(default_values = ["The moon pulls the sea", "The sea follows", "Twice a day the sea comes back"])]
    chapters: Vec<String>,
}

pub(crate) fn book(args: BookArgs) -> Result<BookUpdate, Infallible> {
    Ok(Book::update().chapters(args.chapters))
}
