/** Durations in settings, such as `7d`. A separate module, since the configuration is read without the engine. */
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Returns milliseconds for `7d`, `12h`, `30m` or `90s`; undefined for any other text. */
export function durationMs(text: unknown): number | undefined {
  const [, count, unit = ''] = (typeof text === 'string' ? /^(\d{1,6})([smhd])$/.exec(text) : null) ?? []
  const ms = Number(count) * (unitMs[unit] ?? 0)
  return ms > 0 ? ms : undefined
}
