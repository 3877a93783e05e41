/** The command line: one command a file. */
import { Command } from 'commander'
import { version } from '../version.ts'
import { addCompactCommand } from './compact.ts'
import { addCopyCommand } from './copy.ts'
import { tellFailure } from './process.ts'
import { addRoleCommand } from './role.ts'
import { addServeCommand } from './serve.ts'
import { addTokenCommand } from './token.ts'
import { addUserCommand } from './user.ts'
import { addVerifyCommand } from './verify.ts'

/** `words`: the arguments after the program's name. A mistake is told in one line, and ends with exit code 1. */
export async function run(words: readonly string[]): Promise<void> {
  process.stdout.on('error', leaveClosedPipe)
  const program = new Command('ashlar')
    .description('An open, federated object database behind plain REST.')
    .version(version)
    .showHelpAfterError()
  addServeCommand(program)
  addCopyCommand(program)
  addVerifyCommand(program)
  addCompactCommand(program)
  addUserCommand(program)
  addTokenCommand(program)
  addRoleCommand(program)
  await tellFailure(program.parseAsync(words, { from: 'user' }))
}

/** Whoever reads the output may have read enough, as `head` does. */
function leaveClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}
