/** `ashlar new`: lays out a project with a schema and a first program. */
import type { Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'

export function addNewCommand(program: Command): void {
  const command = program
    .command('new <folder>')
    .summary('Create a TypeScript project.')
    .description(
      'Create a TypeScript project in a new or empty folder: a schema in DO, a first program that is typed by it, and the scripts to develop it with ashlar dev.',
    )
  addJsonOption(command).action(async (folder: string, { json = false }: { readonly json?: boolean }) => {
    const { writeProject } = await import('./new-project.ts')
    writeProject(folder, json)
  })
}
