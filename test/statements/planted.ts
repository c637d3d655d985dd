// Statements with faults, which the test must find.
import { counted, many, one, only, paged, value } from '../../src/platform/database/statements.ts';

type Agent = { readonly id: string; readonly tenantId: string };

export const wrongAlias = many<Agent>('SELECT id, tenant_id AS tenant FROM agents');
export const wrongType = one<{ createdAt: string[] }>('SELECT created_at FROM agents');
export const neverNull = one<{ name: string | null }>('SELECT name FROM agents');
export const mayBeNull = one<{ description: string }>('SELECT description FROM agents');
export const leavesOut = one<{ description: string }>(
  'SELECT description FROM agents WHERE description IS NOT NULL',
);
export const moreColumns = one<{ id: string }>('SELECT id, name FROM agents');
export const oneName = one<{ id: string }>('SELECT id, tenant_id AS id FROM agents');
export const fewValues = counted<[id: string]>('SELECT 1 FROM agents WHERE id = $1 AND tenant_id = $2');
export const leftOut = counted<[id: string, tenantId?: string]>(
  'SELECT 1 FROM agents WHERE id = $1 AND ($2::uuid IS NULL OR tenant_id = $2)',
);
export const wrongValue = counted<[id: number]>('SELECT 1 FROM agents WHERE id = $1');
export const wrongPage = paged<{ id: string }, [type: number]>(
  'SELECT id FROM anchors WHERE id < $1 AND type = $3 LIMIT $2',
);
export const wrongOnly = only<{ id: string }>('SELECT count(*)::int AS id FROM agents');
export const wrongSingle = value<string>('SELECT count(*)::int FROM agents');
export const twoValues = value<string>('SELECT id, name FROM agents');
export const noTable = counted('SELECT 1 FROM agent');
