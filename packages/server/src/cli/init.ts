/** `ashlar init`: a configuration file with all settings, told in comments. */
import type { Command } from 'commander'
import { collect } from './client-command.ts'
import type { InitOptions } from './init-file.ts'

export function addInitCommand(program: Command): void {
  program
    .command('init [file]')
    .summary('Write a configuration file.')
    .description(
      'Write a configuration file (default: ashlar.json) in which comments tell of every setting. On a terminal it asks for what is not given. Start the server by ashlar serve --config ashlar.json.',
    )
    .option('--port <number>', 'port to listen on')
    .option('--data <dir>', 'directory below which federated databases are kept')
    .option('--fd <alias>', 'a federated database (repeatable)', collect)
    .option('--auth', 'callers have to authenticate')
    .option('-y, --yes', 'ask nothing: what is not given has its default')
    .option('--force', 'replace a file that is there')
    .action(async (file: string | undefined, options: InitOptions) => {
      const { writeInitFile } = await import('./init-file.ts')
      await writeInitFile(file ?? 'ashlar.json', options)
    })
}
