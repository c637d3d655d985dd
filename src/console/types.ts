// The parts of the management API that the console reads: openapi.json has the whole.

export type Time = string;

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

export interface Problem {
  readonly status: number;
  readonly error: string;
  readonly detail: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

export const DELIVERY_STATUSES = ['pending', 'retrying', 'held', 'delivered', 'failed', 'canceled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export interface Delivery {
  readonly id: string;
  readonly subscription_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: DeliveryStatus;
  readonly attempt_count: number;
  readonly next_attempt_at: Time | null;
  readonly last_status_code: number | null;
  readonly last_error: string | null;
  readonly created_at: Time;
  readonly completed_at: Time | null;
  readonly workflow_id: string | null;
  readonly workflow_url: string | null;
  readonly workflow_reason: 'settled_at_first_attempt' | 'not_tried' | 'ended_untried' | null;
}

export interface Phases {
  readonly dns_ms: number | null;
  readonly connect_ms: number | null;
  readonly tls_ms: number | null;
  readonly first_byte_ms: number | null;
  readonly total_ms: number;
}

export interface Attempt {
  readonly number: number;
  readonly started_at: Time;
  readonly duration_ms: number;
  readonly phases: Phases;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly retry_after_seconds: number | null;
  readonly response_excerpt: string | null;
}

export interface DeliveryDetails extends Delivery {
  readonly payload: object | null;
  readonly attempts: readonly Attempt[];
}

export interface DeliveryAccount {
  readonly day: string;
  readonly accepted: number;
  readonly delivered: number;
  readonly waiting: number;
  readonly held: number;
  readonly failed: number;
  readonly canceled: number;
  readonly counted_at: Time;
}

export interface Subscription {
  readonly id: string;
  readonly url: string;
  readonly event_types: readonly string[];
  readonly envelope: string;
  readonly description: string | null;
  readonly active: boolean;
  readonly sink: string;
  readonly signatures: readonly string[];
  readonly max_age: number;
  readonly rate_limit: number | null;
  readonly retry_policy: { readonly delays_seconds: readonly number[] };
  readonly disable_after_days: number;
  readonly disabled_reason: string | null;
  readonly secret_overlap_ends_at: Time | null;
  readonly lane: {
    readonly state: 'open' | 'held' | 'down';
    readonly hold_until: Time | null;
    readonly held_by: 'operator' | 'endpoint' | null;
    readonly failing_since: Time | null;
    readonly waiting: number;
  };
  readonly created_at: Time;
  readonly updated_at: Time;
}

export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly capabilities: readonly string[];
  readonly status: 'active' | 'suspended';
  readonly audience: string;
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly dpop_bound_access_tokens: boolean;
  readonly created_at: Time;
  readonly updated_at: Time;
  readonly registration: { readonly complete: boolean };
}

export interface AgentKey {
  readonly key_id: string;
  readonly algorithm: string;
  readonly fingerprint: string;
  readonly label: string | null;
  readonly state: 'active' | 'deprecated' | 'revoked';
  readonly verified_at: Time | null;
  readonly sunset_at: Time | null;
  readonly last_used_at: Time | null;
  readonly created_at: Time;
}

export interface Anchor {
  readonly anchor_id: string;
  readonly type: string;
  readonly value: string;
  readonly status: 'pending' | 'verified' | 'failed' | 'revoked';
  readonly verified_at: Time | null;
  readonly last_error: string | null;
}

export interface Delegation {
  readonly id: string;
  readonly subject: { readonly issuer: string; readonly sub: string };
  readonly scopes: readonly string[];
  readonly audience: string | null;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly expires_at: Time;
  readonly created_at: Time;
}

export interface AuditEntry {
  readonly id: string;
  readonly occurred_at: Time;
  readonly action: string;
  readonly outcome: 'success' | 'failure';
  readonly reason: string | null;
  readonly actor: { readonly kind: string; readonly id: string | null };
  readonly target: { readonly type: string; readonly id: string } | null;
  readonly key_id: string | null;
  readonly token_id: string | null;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly data: object;
}

export interface InclusionProof {
  readonly index: number;
  readonly tree_size: number;
  readonly leaf_hash: string;
  readonly hashes: readonly string[];
  readonly note: string;
  readonly proof: string;
}

export interface ReceiptEntry {
  readonly id: string;
  readonly cause: string;
  readonly created_at: Time;
  readonly completed_at: Time | null;
}

export interface Receipt extends ReceiptEntry {
  readonly status: 'waiting' | 'acknowledged' | 'unacknowledged';
  readonly text: string;
  readonly acknowledged: number;
  readonly receivers: readonly {
    readonly subscription_id: string;
    readonly delivery_id: string;
    readonly kind: 'webhook' | 'stream';
    readonly host: string;
    readonly state: 'acknowledged' | 'waiting' | 'held' | 'failed' | 'canceled';
    readonly acknowledged_at: Time | null;
    readonly attempts: number;
    readonly last_error: string | null;
  }[];
}

export interface FeedEvent {
  readonly event_id: string;
  readonly type: string;
  readonly occurred_at: Time;
  readonly data: object;
  readonly created_at: Time;
}

export interface EventFeed {
  readonly data: readonly FeedEvent[];
  readonly next_cursor: string;
  readonly has_more: boolean;
}

export interface EventType {
  readonly type: string;
  readonly category: string;
  readonly description: string;
  readonly reserved: boolean;
  readonly example: { readonly data?: object };
}

export interface IssuerKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly state: 'published' | 'active' | 'retired' | 'revoked';
  readonly published_at: Time;
  readonly activate_at: Time;
  readonly retire_at: Time | null;
  readonly remove_at: Time | null;
  readonly revoked_at: Time | null;
}
