//! Plans of coding agents: markdown in, tasks and their sections out; and the state of their execution: a person's
//! [`Decision`], the [`TaskProgress`].
//!
//! A plan is ordinary markdown in which a heading `Task N: title` opens a task. This module reads CommonMark, so
//! headings inside code fences, quotes, lists and comments are text. It knows no engine and no agent, and reads no file
//! but that of an [`Issue`]: callers pass the markdown.
//!
//! # Tasks
//!
//! - A heading `Task N: title` of level 2, 3 or 4 opens a task. `N` is a [`TaskId`]: `3`, or `3.1` below task or phase
//!   3. Emphasis, links, anchors and zero-width characters are ignored; a heading that is all code opens none, nor does
//!   `task 3`, `Task3` or `Task 3 - title` (with a [`PlanWarning`]).
//! - The first of them sets the level of all. A task heading at a lower level is part of the section around it (with a
//!   warning); one at a higher level is a [`PlanProblem`]. Level 1 is the title.
//! - The order in the document is the order of execution. Two tasks with one id are a problem, and so is a `3.1` that no
//!   heading 3 comes before in a plan that opens such numbers; a plan may also count in two parts alone: `1.1`, `1.2`,
//!   `2.1`. A gap in the numbers is a warning.
//! - A task's section runs from its heading to the next heading of the same or a higher level.
//! - `Phase N` headings group tasks: the text that opens a phase belongs to the excerpt of each of its tasks.
//! - A plan without task headings is one task: the whole plan. Headings, list items, lines and rows that differ only in a
//!   rising number, in any language (`## 任务 1：…`, `- [ ] T001 …`, `1. …`), and lists of boxes, are warned about then.
//!   In a plan with tasks, so are headings at their level.
//! - A text that is no markdown (JSON, YAML, TOML, HTML, AsciiDoc, …) is a problem.
//! - Front matter between two `---` or `+++` lines is skipped, unless it holds a task heading: then it is read as text.
//!
//! # Sections
//!
//! A label is a heading (`#### Verification`), or the start of a line of a paragraph (`**Verify:**`, `**Verify**:`,
//! `Verify:`), also in a list of labels, but there only in bold; never in quotes, code or HTML. In bold, several may
//! share a line.
//!
//! A label ends where a reader sees it end: at other text, at the next label or heading, at the first step of a list
//! (`- [ ] **Step 1: …**`, `步骤 1：…`, or a box after items without one), and, if its line has a value, at the next empty
//! line, unless the line ends with a colon.
//!
//! - `Acceptance` (also `Acceptance criteria`): the items of the list that follows, or the text on the line; below a
//!   heading without a list, its paragraphs.
//! - `Verify` (also `Verification`, `Verify commands`): the code on the line, and in the lists and code blocks directly
//!   after it; below a heading, prose may come first. In a block each line is a command, except comments; a trailing
//!   backslash continues a line; if some lines start with `$ `, the others are output. Blocks in a language that is not
//!   a shell, and unclosed fences, are not commands.
//! - Prose is never a command. On a line or in an item the first code span is one, with those joined to it by `,` or
//!   `and`: in `` `curl x` returns `{}` `` the second is not. Code that names something is none: a path alone
//!   (`src/generated/`, `README.md`; `./check` and `scripts/x.sh` are programs), a name, a value, an address. A warning
//!   names code that only looks like a command.
//! - Below `Verify` and `Files`, a table is read row by row.
//! - `Changes`: `none` declares that the task changes no file.
//! - `Depends on`: the ids of the tasks it depends on, on the line or in the list that follows, or `none`; also ranges
//!   (`Tasks 1–7`), phases (`Phase 2`), `all previous tasks`, and a number for the tasks below it. Other words beside
//!   them are remarks, with a warning, as are numbers in brackets; a text without any id is a [`PlanProblem`].
//! - `Files`: the paths and globs that the task may touch, in code or plain, on the line or in the list that follows.
//!   Words such as `Create:` and line numbers at the end are ignored.
//!
//! A command with characters that are invisible to the person who approves it is a problem.
//!
//! # Phases
//!
//! Tasks of one phase may run at the same time; each phase depends on the ones before it. [`Plan::phases`] computes them:
//!
//! - One `Depends on` line, even `none`, makes a plan phased. Tasks without the line then depend on nothing, and
//!   `Phase N` headings are titles. The phases are the levels of Kahn's algorithm, each in plan order.
//! - If no task has the line and there are `Phase N` headings, each phase depends on the one before it, and a heading
//!   without tasks is a problem. Tasks outside of them form a phase at their position.
//! - Any other plan has no phases.
//! - If `Files` of two tasks in one phase overlap, the later task moves into a phase of its own right after it, with a
//!   warning. Two paths overlap if they are equal or one is a folder around the other. `*`, `?`, `[..]`, `{a,b}` and
//!   `**` are globs; two globs overlap unless no path can match both. Case is ignored, and a glob without `/` matches
//!   in every folder.
//!
//! A dependency on an unknown task or on itself, and a cycle, are problems.
//!
//! # Files
//!
//! | file | knows |
//! |---|---|
//! | `id`, `error` | the numbers of tasks; problems, warnings, failed lookups |
//! | `source`, `blocks`, `headings` | markdown: its first lines, its tree of blocks, its headings |
//! | `labels` | starts of lines: `Task 3:`, `**Verify:**`, rising numbers |
//! | `fields` | the parts of a section |
//! | `command`, `files`, `needs` | its commands, paths and ids |
//! | `task`, `parse`, `check` | the plan, how it is built, problems and warnings about its headings |
//! | `dependencies` | the graph of the tasks, and its phases |
//! | `execution` | a person's decision, and the progress |
//! | `submission`, `render` | what agents hand over as data, and a proposed plan as markdown |
//! | `issue` | the file that asks for a plan |

mod blocks;
mod check;
mod command;
mod dependencies;
mod error;
mod execution;
mod fields;
mod files;
mod headings;
mod id;
mod issue;
mod labels;
mod needs;
mod parse;
mod render;
mod source;
mod submission;
mod task;

pub use command::VerifyCommand;
pub use dependencies::Phases;
pub use error::{PlanError, PlanProblem, PlanWarning};
pub use execution::{Decision, TaskProgress};
pub use files::covers;
pub use id::TaskId;
pub use issue::{Issue, IssueError, IssueProblem};
#[doc(hidden)]
pub use parse::{extract_task_count, extract_task_section};
pub use submission::{
    Comment, CommentSeverity, FinalReview, PlanProposal, ProposalProblem, ProposedTask, Review, WorkReport, WorkStatus,
};
pub use task::{Plan, Task, hash};
