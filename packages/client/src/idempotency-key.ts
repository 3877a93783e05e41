/** Keys by which a server recognizes a repeated request. */

/** `crypto.randomUUID` is missing on pages loaded by plain HTTP from another machine. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
