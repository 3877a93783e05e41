/** The instruction to the operator of a store that is too old. */

/** The command by which a store that is too old is brought over. `address` holds no credential. */
export function copyCommand(address: string): string {
  return `ashlar copy ${quoted(address)} <new store>`
}

/** As a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
