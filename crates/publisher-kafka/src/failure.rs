//! What the code of an error says about a message. Pure functions of the code.

use outbox_publisher::PublishErrorKind::{
    self, Interrupted, Rejected, Throttled, TooLarge, Unavailable, Unknown,
};
use rdkafka::error::RDKafkaErrorCode as Code;

/// What a record was not delivered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing confirmed it in time; it may have been stored.
    Timeout,
    /// There is no such topic, or no such partition of it.
    Missing,
    /// The topic may not be written to by this user.
    Forbidden,
    /// The brokers refuse the user, or what it does.
    Refused,
    /// The brokers and the producer number its records differently, which it does not mend by itself.
    Numbering,
    /// Another record of its batch.
    Neighbor,
    /// Anything else, which says this.
    Other(PublishErrorKind),
}

/// Reads the code of a record that was not delivered.
pub(crate) fn of(code: Code) -> Fault {
    match code {
        Code::MessageTimedOut | Code::RequestTimedOut => Fault::Timeout,
        Code::UnknownTopic
        | Code::UnknownPartition
        | Code::UnknownTopicOrPartition
        | Code::UnknownTopicId
        // The name is well-formed, so it is one that the cluster keeps for itself.
        | Code::InvalidTopic => Fault::Missing,
        Code::TopicAuthorizationFailed => Fault::Forbidden,
        Code::ClusterAuthorizationFailed
        | Code::SaslAuthenticationFailed
        | Code::Authentication
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState
        | Code::SecurityDisabled
        | Code::SSL => Fault::Refused,
        Code::Fatal
        | Code::OutOfOrderSequenceNumber
        | Code::DuplicateSequenceNumber
        | Code::InvalidProducerEpoch
        | Code::InvalidProducerIdMapping
        | Code::UnknownProducerId
        | Code::ProducerFenced
        | Code::Inconsistent => Fault::Numbering,
        Code::InvalidDifferentRecord => Fault::Neighbor,
        other => Fault::Other(kind(other)),
    }
}

fn kind(code: Code) -> PublishErrorKind {
    match code {
        Code::MessageSizeTooLarge | Code::MessageBatchTooLarge => TooLarge,
        Code::InvalidRecord
        | Code::InvalidMessage
        | Code::InvalidMessageSize
        | Code::InvalidTimestamp
        | Code::UnsupportedForMessageFormat
        | Code::PolicyViolation => Rejected,
        Code::QueueFull | Code::ThrottlingQuotaExceeded => Throttled,
        Code::PurgeQueue | Code::PurgeInflight | Code::BrokerDestroy | Code::DestroyBroker => Interrupted,
        // What is on the way to a broker, inside one, or between them.
        Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::Resolve
        | Code::OperationTimedOut
        | Code::TimedOutQueue
        | Code::ISRInsufficient
        | Code::WaitCache
        | Code::UnknownBroker
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::BrokerNotAvailable
        | Code::ReplicaNotAvailable
        | Code::NetworkException
        | Code::CoordinatorLoadInProgress
        | Code::CoordinatorNotAvailable
        | Code::NotCoordinator
        | Code::NotController
        | Code::NotEnoughReplicas
        | Code::NotEnoughReplicasAfterAppend
        | Code::ReassignmentInProgress
        | Code::PreferredLeaderNotAvailable
        | Code::EligibleLeadersNotAvailable
        | Code::ElectionNotNeeded
        | Code::ListenerNotFound
        | Code::FencedLeaderEpoch
        | Code::UnknownLeaderEpoch
        | Code::StaleBrokerEpoch
        | Code::KafkaStorageError
        | Code::LogDirNotFound
        | Code::RebootstrapRequired
        // What the cluster is set up for, whatever the message.
        | Code::UnsupportedVersion
        | Code::UnsupportedFeature
        | Code::UnsupportedCompressionType
        | Code::InvalidRequiredAcks => Unavailable,
        _ => Unknown,
    }
}

impl Fault {
    /// What it says about the message.
    pub(crate) fn kind(self) -> PublishErrorKind {
        match self {
            Self::Timeout | Self::Missing | Self::Forbidden | Self::Refused | Self::Numbering => {
                Unavailable
            }
            Self::Neighbor => Interrupted,
            Self::Other(kind) => kind,
        }
    }

    /// Whether it can be the fault of another record in the batch: a broker refuses a batch as a whole.
    pub(crate) fn may_be_of_another(self) -> bool {
        matches!(
            self,
            Self::Neighbor | Self::Other(TooLarge | Rejected | Unknown)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_told_apart_by_what_they_say_about_the_message() {
        for (expected, code) in [
            (Unavailable, Code::MessageTimedOut),
            (Unavailable, Code::BrokerTransportFailure),
            (Unavailable, Code::UnknownTopic),
            (Unavailable, Code::UnknownTopicOrPartition),
            (Unavailable, Code::InvalidTopic),
            (Unavailable, Code::TopicAuthorizationFailed),
            (Unavailable, Code::ClusterAuthorizationFailed),
            (Unavailable, Code::NotEnoughReplicas),
            (Unavailable, Code::KafkaStorageError),
            (Unavailable, Code::Fatal),
            (Unavailable, Code::ProducerFenced),
            (Throttled, Code::QueueFull),
            (Throttled, Code::ThrottlingQuotaExceeded),
            (TooLarge, Code::MessageSizeTooLarge),
            (TooLarge, Code::MessageBatchTooLarge),
            (Rejected, Code::InvalidRecord),
            (Rejected, Code::PolicyViolation),
            (Rejected, Code::InvalidTimestamp),
            (Interrupted, Code::PurgeQueue),
            (Interrupted, Code::InvalidDifferentRecord),
            (Unknown, Code::InvalidRequest),
            (Unknown, Code::Unknown),
        ] {
            assert_eq!(of(code).kind(), expected, "{code:?}");
        }
    }

    #[test]
    fn f5_only_what_is_said_of_a_message_may_be_said_of_another_one() {
        for code in [
            Code::MessageSizeTooLarge,
            Code::InvalidRecord,
            Code::InvalidDifferentRecord,
            Code::InvalidRequest,
        ] {
            assert!(of(code).may_be_of_another(), "{code:?}");
        }
        for code in [
            Code::MessageTimedOut,
            Code::UnknownTopic,
            Code::TopicAuthorizationFailed,
            Code::QueueFull,
            Code::PurgeQueue,
            Code::Fatal,
        ] {
            assert!(!of(code).may_be_of_another(), "{code:?}");
        }
    }
}
