/** The commands as they are declared: alone, where they are meant, or all of them. */
import { expect, it } from 'vitest'
import { programOf } from '../../src/program/program.ts'

it('every command is declared by its name, as among all others', () => {
  const all = programOf().commands
  expect(all.length).toBeGreaterThan(20)
  for (const command of all.filter((known) => known.name() !== 'complete')) {
    const program = programOf(command.name())
    const alone = program.commands.find((known) => known.name() === command.name())
    expect(alone?.helpInformation()).toBe(command.helpInformation())
    expect(program.commands.length).toBeLessThan(all.length)
  }
})
