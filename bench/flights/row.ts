/** A row of source data, made into the request that creates its object. */

export interface CreateRequest {
  readonly class: string
  readonly attributes: Record<string, unknown>
}

export interface SourceRow {
  /** File and row, for messages. */
  readonly place: string
  readonly request: CreateRequest
}

/** Says what is wrong with a row that cannot be taken. */
export class RowError extends Error {}

/** `\N` is how the OpenFlights files write null. */
export function nullable(field: string | undefined): string | null {
  return field === undefined || field === '\\N' ? null : field
}

/** Also null where the field is empty. Throws RowError for what is not a number. */
export function numberOrNull(field: string | undefined, name: string): number | null {
  const given = nullable(field)
  if (given === null || given === '') return null
  const value = Number(given)
  if (!Number.isFinite(value)) throw new RowError(`${name} '${given}' is not a number`)
  return value
}

/** `855` → `08:55`; 2400 is midnight. Throws RowError. */
export function timeOfDay(field: string | undefined, name: string): string | null {
  const value = numberOrNull(field, name)
  if (value === null) return null
  const hours = Math.floor(value / 100) % 24
  const minutes = value % 100
  if (!Number.isInteger(value) || value < 0 || value > 2400 || minutes > 59) {
    throw new RowError(`${name} '${field}' is not a time of day (hhmm)`)
  }
  return `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
}
