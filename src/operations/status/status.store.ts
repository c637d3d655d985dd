// SQL of `countersign status`: the processes that have shown lately that they live.
import { many } from '../../platform/database/statements.ts';

export const listProcesses = many<{ role: string; count: number; since: Date }>(`
SELECT role, count(*)::int AS count, min(started_at) AS since FROM relays
WHERE seen_at > now() - interval '10 seconds' GROUP BY role ORDER BY role`);
