// Times as people type and read them. Pure.

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** @returns the seconds of a text such as 90s, 10m, 12h or 7d; undefined for anything else */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

/** `3 min ago`, `in 2 h`: in the largest unit of which there are two. */
export function relativeTime(time: number, now: number): string {
  const seconds = Math.round(Math.abs(now - time) / 1000);
  if (seconds < 1) return 'now';
  const length = roughLength(seconds);
  return time > now ? `in ${length}` : `${length} ago`;
}

/** `45 s`, `12 min`, `5 h`, `3 d` */
export function roughLength(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 2 * SECONDS.h) return `${Math.floor(seconds / SECONDS.m)} min`;
  if (seconds < 2 * SECONDS.d) return `${Math.floor(seconds / SECONDS.h)} h`;
  return `${Math.floor(seconds / SECONDS.d)} d`;
}

/** `08:04:12`, of this machine's time zone */
export function clockTime(time: Date): string {
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}
