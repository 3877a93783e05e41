/** `ashlar init`: writes a configuration file with all settings, explained in comments. */
import type { Command } from 'commander'
import { addJsonOption, collect } from './client-command.ts'
import type { InitOptions } from './init-file.ts'

export function addInitCommand(program: Command): void {
  const command = program
    .command('init [file]')
    .summary('Write a configuration file.')
    .description(
      'Write a configuration file (default: ashlar.json) with comments that explain every setting. On a terminal, asks for settings that are not specified. Start the server with ashlar serve --config ashlar.json.',
    )
    .option('--port <number>', 'port to listen on')
    .option('--data <dir>', 'directory in which federated databases are stored')
    .option('--fd <alias>', 'a federated database to serve (repeatable)', collect)
    .option('--auth', 'require authentication')
    .option('-y, --yes', 'do not ask; use defaults for settings that are not specified')
    .option('--force', 'overwrite an existing file')
  addJsonOption(command).action(async (file: string | undefined, options: InitOptions) => {
    const { writeInitFile } = await import('./init-file.ts')
    await writeInitFile(file ?? 'ashlar.json', options)
  })
}
