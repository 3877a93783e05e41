/** What the exit code of a command says. Rule of docs/command-line.md, which has them from here. */

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  conflict: 5,
  unavailable: 6,
  invalid: 7,
  different: 8,
  interrupted: 130,
} as const

/** For people, in the reference. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done',
  failed: 'failed, by a fault of the server or of this machine',
  usage: 'the command line, a profile or a file of settings is wrong; nothing was sent',
  notFound: 'what was named is not there (404)',
  refused: 'not authenticated, or not allowed (401, 403)',
  conflict: 'contradicts what is stored, or what others do at the same time (409, 412)',
  unavailable: 'the server cannot be reached, is overloaded or stops (429, 502, 503, 504); trying again may help',
  invalid: 'the data or the statement is wrong: what is said names the place (400, 413, 415, 422)',
  different: 'the schema is not that of the files (`schema check`, `schema diff`)',
  interrupted: 'ended by Ctrl-C',
}

const ofStatus: Readonly<Record<number, number>> = {
  400: exitCodes.invalid,
  401: exitCodes.refused,
  403: exitCodes.refused,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
  412: exitCodes.conflict,
  413: exitCodes.invalid,
  415: exitCodes.invalid,
  422: exitCodes.invalid,
  429: exitCodes.unavailable,
  502: exitCodes.unavailable,
  503: exitCodes.unavailable,
  504: exitCodes.unavailable,
}

/** Of a refusal by the server. `status`: of HTTP. */
export function exitCodeOfStatus(status: number): number {
  return ofStatus[status] ?? exitCodes.failed
}
