/** The words with which statements begin. */

const words: readonly string[] = [
  'FROM',
  'SELECT',
  'RETURN',
  'MATCH',
  'CREATE',
  'UPDATE',
  'DELETE',
  'UPSERT',
  'LOOKUP',
  'LET',
  'SHOW',
  'FOR',
  'IF',
  'USE',
  'IMPORT',
  'DROP',
  'EXPLAIN',
]

/** `word`: in capitals. */
export function isStatementWord(word: string): boolean {
  return words.includes(word)
}

/** As messages tell what could begin a statement. */
export const statementBeginnings: readonly string[] = words
  .filter((word) => word !== 'IMPORT')
  .map((word) => (word === 'FOR' ? 'FOR EACH' : word === 'DROP' ? 'DROP INDEX' : word))
