/** The result of a command that talks to no server: a line of JSON where that is asked for, else lines for people. */

export interface ResultOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** To standard output; with `quiet`, no lines for people. */
export function printResult(value: unknown, { json, quiet }: ResultOptions, lines: () => readonly string[]): void {
  if (json === true) process.stdout.write(`${JSON.stringify(value)}\n`)
  else if (quiet !== true) process.stdout.write(`${lines().join('\n')}\n`)
}
