/** Reads single settings as texts, from options, environment and file alike. */
import { ConfigError } from './config.ts'

/** `name`: the setting as whoever wrote it knows it. Throws ConfigError. */
export function readPort(value: unknown, name: string): number {
  const isDigits = typeof value === 'string' && /^\d{1,5}$/.test(value)
  if (typeof value === 'number' || isDigits) return Number(value)
  throw new ConfigError(`${name} is a port (0 to 65535), not ${JSON.stringify(value)}.`)
}

export function readWorkers(value: unknown, name: string): number {
  const isDigits = typeof value === 'string' && /^\d{1,5}$/.test(value)
  if (typeof value === 'number' || isDigits) return Number(value)
  throw new ConfigError(`${name} is a number of workers, not ${JSON.stringify(value)}.`)
}

export function readBoolean(value: unknown, name: string): boolean {
  if (value === true || value === 'true' || value === '1') return true
  if (value === false || value === 'false' || value === '0') return false
  throw new ConfigError(`${name} is true or false, not ${JSON.stringify(value)}.`)
}

export function readText(value: unknown, name: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new ConfigError(`${name} is a text, not ${JSON.stringify(value)}.`)
}

/** `ALIAS` or `ALIAS=STORE`. */
export function readFdOption(text: string): { alias: string; store?: string } {
  const separator = text.indexOf('=')
  if (separator < 0) return { alias: text }
  const store = text.slice(separator + 1)
  if (store === '') throw new ConfigError(`'${text}' names no store after the =.`)
  return { alias: text.slice(0, separator), store }
}

/** ` Did you mean x?` for a known name that differs by little. */
export function nearSetting(name: string, known: readonly string[]): string {
  const wanted = name.toLowerCase()
  const near = known.find((candidate) => isNear(wanted, candidate.toLowerCase()))
  return near === undefined ? '' : ` Did you mean ${near}?`
}

/** Equal but for case, one missing or added letter, or two letters swapped or replaced. */
function isNear(one: string, other: string): boolean {
  if (one === other || one.startsWith(other) || other.startsWith(one)) return true
  const [short, long] = one.length <= other.length ? [one, other] : [other, one]
  if (long.length - short.length > 2) return false
  let matched = 0
  for (const letter of long) if (letter === short[matched]) matched++
  if (matched >= short.length - 1 && short.length > 2) return true
  return one.length === other.length && [...one].filter((letter, i) => letter !== other[i]).length <= 2
}
