/** Names and other texts of a request as messages repeat them. */

export const namesListedMax = 10
export const nameCharactersMax = 60

/** A text as a client sent it, bounded. */
export function quote(text: string): string {
  return `'${text.slice(0, nameCharactersMax)}'`
}

/** Names as a client sent them, bounded. */
export function quoteNames(names: readonly string[]): string {
  const shown = names.slice(0, namesListedMax).map(quote)
  return `${shown.join(', ')}${names.length > namesListedMax ? ' and others' : ''}`
}
