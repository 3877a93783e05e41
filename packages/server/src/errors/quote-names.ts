/** Names of a request as messages repeat them. */

export const namesListedMax = 10
export const nameCharactersMax = 60

/** Names as a client sent them, bounded. */
export function quoteNames(names: readonly string[]): string {
  const shown = names.slice(0, namesListedMax).map((name) => `'${name.slice(0, nameCharactersMax)}'`)
  return `${shown.join(', ')}${names.length > namesListedMax ? ' and others' : ''}`
}
