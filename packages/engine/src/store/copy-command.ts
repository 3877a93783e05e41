/** The command that upgrades a store of an older format. */

/** `address` contains no credentials. */
export function copyCommand(address: string): string {
  return `ashlar copy ${quoted(address)} <new store>`
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
