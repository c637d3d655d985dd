// The table of agents.
import {
  boolean,
  defineTable,
  given,
  json,
  type NewRowOf,
  nullable,
  type RowOf,
  TENANT_ROW,
  text,
  texts,
  time,
} from '../../platform/database/table.ts';
import type { AgentStatus } from './agent.ts';

export const AGENT = defineTable('agents', {
  ...TENANT_ROW,
  name: text(),
  description: nullable(text()),
  capabilities: given(texts()),
  status: given(text<AgentStatus>()),
  audience: nullable(text()),
  /** Further audiences that a token request may name. */
  audiences: given(texts()),
  scopes: texts(),
  metadata: given(json<Readonly<Record<string, unknown>>>()),
  updatedAt: given(time()),
  deletedAt: nullable(time()),
  dpopBoundAccessTokens: given(boolean()),
  /** Who answers for the agent, in the tenant's own words. */
  owner: nullable(text()),
  purpose: nullable(text()),
  /** A capability was taken from the agent. */
  hadCapabilities: given(boolean()),
  /** The scopes that the agent had before its scopes were changed. */
  hadScopes: given(texts()),
});

export type AgentRow = RowOf<typeof AGENT>;
export type NewAgentRow = NewRowOf<typeof AGENT>;
