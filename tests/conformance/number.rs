//! Python's numbers over JSON: whole numbers that do not overflow in practice, floats with Python's text and remainder,
//! booleans that count as 0 and 1.

use std::cmp::Ordering;

use serde_json::Value;

use crate::python::{PythonError, Result, type_error};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(flag) => Some(Self::Whole(i128::from(*flag))),
            Value::Number(number) => Some(match (number.as_i64(), number.as_u64()) {
                (Some(whole), _) => Self::Whole(whole.into()),
                (None, Some(whole)) => Self::Whole(whole.into()),
                (None, None) => Self::Float(number.as_f64()?),
            }),
            Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Reads a number; `null` counts as 0.
    pub(crate) fn operand(value: &Value) -> Result<Self> {
        match value {
            Value::Null => Ok(Self::Whole(0)),
            other => Self::of(other).map_or_else(|| type_error(format!("{other} is not a number")), Ok),
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            Self::Whole(whole) => whole == 0,
            Self::Float(float) => float == 0.0,
        }
    }

    /// Returns the JSON value; a whole number past 64 bits becomes a float, as in a case file that is read.
    pub(crate) fn value(self) -> Value {
        match self {
            Self::Whole(whole) => match (i64::try_from(whole), u64::try_from(whole)) {
                (Ok(whole), _) => Value::from(whole),
                (Err(_), Ok(whole)) => Value::from(whole),
                (Err(_), Err(_)) => Value::from(whole as f64),
            },
            Self::Float(float) => Value::from(float),
        }
    }

    pub(crate) fn cmp(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (left, right) => left.float().partial_cmp(&right.float()),
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        self.combine(other, i128::checked_add, |left, right| left + right)
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        self.combine(other, i128::checked_sub, |left, right| left - right)
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        self.combine(other, i128::checked_mul, |left, right| left * right)
    }

    /// Returns the remainder with the divisor's sign.
    pub(crate) fn modulo(self, divisor: Self) -> Result<Self> {
        if divisor.is_zero() {
            return Err(PythonError::new("ZeroDivisionError", "modulo by zero"));
        }
        Ok(self.combine(divisor, whole_modulo, float_modulo))
    }

    fn combine(self, other: Self, whole: fn(i128, i128) -> Option<i128>, float: fn(f64, f64) -> f64) -> Self {
        if let (Self::Whole(left), Self::Whole(right)) = (self, other)
            && let Some(result) = whole(left, right)
        {
            return Self::Whole(result);
        }
        Self::Float(float(self.float(), other.float()))
    }

    fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }
}

fn whole_modulo(left: i128, right: i128) -> Option<i128> {
    let rest = left.checked_rem(right)?;
    Some(if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest })
}

fn float_modulo(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest == 0.0 {
        0.0_f64.copysign(right)
    } else if (rest < 0.0) != (right < 0.0) {
        rest + right
    } else {
        rest
    }
}

/// Formats a float as Python's `repr`: shortest digits, an exponent below 1e-4 and from 1e16 on.
pub(crate) fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&power) {
        let plain = float.to_string();
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", power.abs())
}
