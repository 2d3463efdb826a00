//! Status codes: one row per code.

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal;)+) => {
        /// A status code this server sends (facts page 3).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Status {
            $(#[doc = concat!($code, " ", $reason)] $(#[$doc])* $name,)+
        }

        impl Status {
            /// All of them, in the order of their codes. A status's position is [`Status::row`].
            pub const ALL: &'static [Status] = &[$(Status::$name,)+];

            /// The three digits.
            pub const fn code(self) -> u16 {
                match self { $(Status::$name => $code,)+ }
            }

            /// The reason phrase.
            pub const fn reason(self) -> &'static str {
                match self { $(Status::$name => $reason,)+ }
            }
        }
    };
}

statuses! {
    Ok = 200, "OK";
    Accepted = 202, "Accepted";
    NoContent = 204, "No Content";
    NegotiationInProgress = 261, "Negotiation In Progress";
    AuthorizationRequired = 262, "Authorization Required";
    ProposalApproved = 263, "Proposal Approved";
    BadRequest = 400, "Bad Request";
    Unauthorized = 401, "Unauthorized";
    Forbidden = 403, "Forbidden";
    NotFound = 404, "Not Found";
    MethodNotAllowed = 405, "Method Not Allowed";
    Timeout = 408, "Timeout";
    Conflict = 409, "Conflict";
    Gone = 410, "Gone";
    ContentTooLarge = 413, "Content Too Large";
    UnprocessableEntity = 422, "Unprocessable Entity";
    TooEarly = 425, "Too Early";
    RateLimited = 429, "Rate Limited";
    ScopeViolation = 455, "Scope Violation";
    BudgetExceeded = 456, "Budget Exceeded";
    ZoneViolation = 457, "Zone Violation";
    CounterpartyUnverified = 458, "Counterparty Unverified";
    MethodViolation = 459, "Method Violation";
    EndpointViolation = 460, "Endpoint Violation";
    RcnsContractAvailable = 461, "RCNS Contract Available";
    InsufficientBudget = 462, "Insufficient Budget";
    ProposalRejected = 463, "Proposal Rejected";
    RcnsNoContract = 464, "RCNS No Contract";
    ServerError = 500, "Server Error";
    NotImplemented = 501, "Not Implemented";
    Unavailable = 503, "Unavailable";
    DelegationFailure = 550, "Delegation Failure";
    AuthorityChainBroken = 551, "Authority Chain Broken";
}

impl Status {
    /// Position in [`Status::ALL`], which indexes tables with a row per status.
    #[inline]
    pub const fn row(self) -> usize {
        self as usize
    }

    /// Whether the request was done: 2xx but 262.
    pub const fn is_success(self) -> bool {
        self.code() < 300 && self.code() != 262
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_codes_and_no_reserved_code_is_sent() {
        for (row, status) in Status::ALL.iter().enumerate() {
            assert_eq!(status.row(), row);
            assert!(status.code() != 465 && !(552..=555).contains(&status.code()));
        }
        assert!(Status::ALL.windows(2).all(|pair| pair[0].code() < pair[1].code()));
    }
}
