/** Durations as people write them. Its own module, since the configuration is read without the engine. */
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `7d`, `12h`, `30m` or `90s` in milliseconds; undefined for anything else. */
export function durationMs(text: unknown): number | undefined {
  const [, count, unit = ''] = (typeof text === 'string' ? /^(\d{1,6})([smhd])$/.exec(text) : null) ?? []
  const ms = Number(count) * (unitMs[unit] ?? 0)
  return ms > 0 ? ms : undefined
}
