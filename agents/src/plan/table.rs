//! The rows of a table in a paragraph of text: `| a | b |`. Knows the pieces of a line and no plan.

use super::inline::{Line, Piece};

/// Returns the cells of each row below the head; `None` for a paragraph that is no table.
pub(super) fn rows(lines: &[Line]) -> Option<Vec<Vec<Vec<Piece>>>> {
    let is_rule = |line: &Line| {
        let text = line.text();
        text.contains("--") && text.chars().all(|c| "|-: ".contains(c))
    };
    let rule = lines.iter().position(is_rule).filter(|at| *at == 1)?;
    let rows = lines[rule + 1..].iter().take_while(|line| line.text().contains('|'));
    Some(rows.map(cells).collect())
}

/// True if a cell has code.
pub(super) fn is_code(cell: &[Piece]) -> bool {
    cell.iter().any(|piece| piece.is_code)
}

fn cells(line: &Line) -> Vec<Vec<Piece>> {
    let mut cells: Vec<Vec<Piece>> = vec![Vec::new()];
    for piece in &line.pieces {
        let texts: Vec<&str> = if piece.is_code { vec![&piece.text] } else { piece.text.split('|').collect() };
        for (nth, text) in texts.into_iter().enumerate() {
            if nth > 0 {
                cells.push(Vec::new());
            }
            let piece = Piece { text: text.to_owned(), ..piece.clone() };
            cells.last_mut().into_iter().for_each(|cell| cell.push(piece.clone()));
        }
    }
    cells
}
