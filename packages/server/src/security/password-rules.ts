/** Which passwords are too easy to guess (contract 9.2): a guesser tries the common ones first, and the name of the user. */
import { ServerError } from '../errors/server-errors.ts'

/** In lower case. They are loaded when a password is set for the first time. */
let common: Promise<ReadonlySet<string>> | undefined

/** `name`: the user whose password it will be. Throws WeakPassword. */
export async function refuseCommonPassword(password: string, name: string): Promise<void> {
  const lower = password.toLowerCase()
  if (lower === name.toLowerCase()) throw weak('must not be the name of the user')
  if (new Set(lower).size < distinctCharactersMin) {
    throw weak(`needs at least ${distinctCharactersMin} different characters`)
  }
  common ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary.passwords))
  if ((await common).has(lower)) throw weak('must not be one of the most common ones, which are tried first')
}

const distinctCharactersMin = 4

function weak(problem: string): ServerError {
  return new ServerError('WeakPassword', `A password ${problem}; a sentence is a good one.`)
}
