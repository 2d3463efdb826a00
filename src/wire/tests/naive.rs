//! A plain parser: over the whole input, with copies, written from the rules and sharing nothing with the fast one but
//! the names of the rules.

use crate::wire::{Limits, WireDetail};

#[derive(Debug, PartialEq)]
pub(super) enum Naive {
    NeedMore,
    Done(NaiveHead),
    Wrong(WireDetail, Option<u32>),
}

#[derive(Debug, PartialEq)]
pub(super) struct NaiveHead {
    pub(super) method: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: Option<Vec<u8>>,
    pub(super) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) content_length: u64,
    pub(super) len: usize,
}

pub(super) fn parse(input: &[u8], limits: &Limits) -> Naive {
    match head(input, limits) {
        Ok(Some(head)) => Naive::Done(head),
        Ok(None) => Naive::NeedMore,
        Err((detail, header)) => Naive::Wrong(detail, header),
    }
}

type Fault = (WireDetail, Option<u32>);

fn head(input: &[u8], limits: &Limits) -> Result<Option<NaiveHead>, Fault> {
    let whole_line = |detail| (detail, None);
    let line_limit = limits.request_line_bytes as usize + 2;
    for (at, expected) in b"AGTP/1.0 ".iter().enumerate().take(line_limit) {
        if input.get(at).is_some_and(|byte| byte != expected) {
            return Err(whole_line(WireDetail::NotAgtp));
        }
    }
    let Some(lf) = input.iter().take(line_limit).position(|&byte| byte == b'\n') else {
        return if input.len() >= line_limit { Err(whole_line(WireDetail::LineTooLong)) } else { Ok(None) };
    };
    let line = input[..lf].strip_suffix(b"\r").ok_or(whole_line(WireDetail::LineBareLf))?;
    let (method, path, query) = request_line(&line[9..]).map_err(whole_line)?;
    let mut head = NaiveHead { method, path, query, headers: Vec::new(), content_length: 0, len: lf + 1 };
    let first = lf + 1;
    let last = first + limits.header_bytes as usize;
    loop {
        let rest = &input[head.len..];
        let Some(lf) = rest.iter().take(last + 2 - head.len).position(|&byte| byte == b'\n') else {
            return if input.len() >= last + 2 {
                Err(whole_line(WireDetail::HeadersTooLong))
            } else {
                Ok(None)
            };
        };
        let number = head.headers.len() as u32 + 1;
        let of_header = |detail| (detail, Some(number));
        let line = rest[..lf].strip_suffix(b"\r").ok_or(of_header(WireDetail::HeaderBareLf))?;
        head.len += lf + 1;
        if line.is_empty() {
            break;
        }
        if head.len > last {
            return Err(whole_line(WireDetail::HeadersTooLong));
        }
        if number > limits.header_count {
            return Err(of_header(WireDetail::HeadersTooMany));
        }
        header(line, &mut head).map_err(of_header)?;
    }
    if head.content_length > u64::from(limits.body_bytes) {
        return Err(whole_line(WireDetail::BodyTooLong));
    }
    Ok(Some(head))
}

type RequestLine = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// Collects the place and the rule of everything wrong; the first place decides.
fn request_line(rest: &[u8]) -> Result<RequestLine, WireDetail> {
    let first_space = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
    let mark = (first_space..rest.len()).find(|&at| rest[at] == b'?');
    let query_start = mark.map_or(usize::MAX, |mark| mark + 1);
    let mut faults = Vec::new();
    for (at, &byte) in rest.iter().enumerate() {
        let in_query = at >= query_start;
        let fault = match byte {
            b'#' => Some(WireDetail::Fragment),
            b'\r' => Some(WireDetail::LineBareCr),
            _ if byte.is_ascii_control() => Some(WireDetail::LineControl),
            b' ' if at == 0 => Some(WireDetail::MethodMissing),
            b' ' if at > first_space => Some(WireDetail::ExtraSpace),
            _ if at < first_space && !byte.is_ascii() => Some(WireDetail::MethodCharacter),
            b'%' if in_query && !is_escape(&rest[at..]) => Some(WireDetail::QueryEscape),
            _ if in_query && !is_query_character(byte) => Some(WireDetail::QueryCharacter),
            _ => None,
        };
        faults.extend(fault.map(|fault| (at, fault)));
    }
    if rest.is_empty() {
        faults.push((0, WireDetail::MethodMissing));
    }
    if first_space + 1 == rest.len() {
        faults.push((rest.len(), WireDetail::TargetMissing));
    }
    if let Some(&(_, fault)) = faults.iter().min_by_key(|(at, _)| *at) {
        return Err(fault);
    }
    let method = rest[..first_space].to_vec();
    let Some(target) = rest.get(first_space + 1..) else {
        return Ok((method, b"/".to_vec(), None));
    };
    let mut parts = target.splitn(2, |&byte| byte == b'?');
    let path = parts.next().unwrap().to_vec();
    let query = parts.next().map(<[u8]>::to_vec);
    for part in query
        .iter()
        .flat_map(|query| query.split(|&b| b == b'&'))
        .flat_map(|pair| pair.splitn(2, |&b| b == b'='))
    {
        String::from_utf8(plain_decode(part)).map_err(|_| WireDetail::QueryUtf8)?;
    }
    Ok((method, path, query))
}

fn is_query_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/?".contains(&byte)
}

pub(in crate::wire) fn is_escape(text: &[u8]) -> bool {
    text.len() >= 3 && text[0] == b'%' && text[1].is_ascii_hexdigit() && text[2].is_ascii_hexdigit()
}

/// Decodes escapes that are known to be sound.
pub(in crate::wire) fn plain_decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if rest[0] == b'%' {
            let digits = std::str::from_utf8(&rest[1..3]).unwrap();
            decoded.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &rest[3..];
        } else {
            decoded.push(rest[0]);
            rest = &rest[1..];
        }
    }
    decoded
}

fn header(line: &[u8], head: &mut NaiveHead) -> Result<(), WireDetail> {
    let is_blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    if is_blank(&line[0]) {
        return Err(WireDetail::HeaderFolded);
    }
    let colon = line.iter().position(|&byte| byte == b':').ok_or(WireDetail::HeaderWithoutColon)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let start = value.iter().position(|byte| !is_blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    let value = &value[start..end];
    if name.is_empty() {
        return Err(WireDetail::NameEmpty);
    }
    if is_blank(&name[name.len() - 1]) {
        return Err(WireDetail::NameSpace);
    }
    if !name.iter().all(|&byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
        return Err(WireDetail::NameCharacter);
    }
    let lower = String::from_utf8(name.to_ascii_lowercase()).unwrap();
    let repeated = head.headers.iter().any(|(other, _)| other.to_ascii_lowercase() == lower.as_bytes());
    match lower.as_str() {
        "transfer-encoding" => return Err(WireDetail::TransferEncoding),
        "content-length" if repeated => return Err(WireDetail::LengthRepeated),
        "content-length" => head.content_length = plain_length(value)?,
        "agent-id"
        | "target-agent"
        | "authority-scope"
        | "session-id"
        | "task-id"
        | "request-id"
        | "idempotency-key"
        | "delegation-chain"
        | "allow-rcns"
        | "contract-synthesized"
        | "authorization"
        | "content-type"
        | "accept"
            if repeated =>
        {
            return Err(WireDetail::Repeated);
        }
        _ => {}
    }
    for &byte in value {
        match byte {
            b'\r' => return Err(WireDetail::ValueBareCr),
            b'\t' => {}
            _ if byte.is_ascii_control() => return Err(WireDetail::ValueControl),
            _ if !byte.is_ascii() => return Err(WireDetail::ValueNotAscii),
            _ => {}
        }
    }
    head.headers.push((name.to_vec(), value.to_vec()));
    Ok(())
}

fn plain_length(value: &[u8]) -> Result<u64, WireDetail> {
    match value.len() {
        0 => Err(WireDetail::LengthEmpty),
        _ if !value.iter().all(u8::is_ascii_digit) => Err(WireDetail::LengthNotDigits),
        1..=10 => Ok(std::str::from_utf8(value).unwrap().parse().unwrap()),
        _ => Err(WireDetail::LengthTooLong),
    }
}
