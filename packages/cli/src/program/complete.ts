/** Completes the last word of a command line, by the declarations of the commands. */
import type { Command, Option } from 'commander'
import { firstSentence } from '../declaration/client-command.ts'

export interface WordCompletion {
  readonly word: string
  readonly meaning: string
}

/** `words`: all after the program's name; the last one is being typed, and may be empty. Returns [] if only a file or a name is possible. */
export function candidates(program: Command, words: readonly string[]): WordCompletion[] {
  const typed = words.at(-1) ?? ''
  let command = program
  let operands = 0
  let pending: Option | undefined
  for (const word of words.slice(0, -1)) {
    const option = word.startsWith('-') ? optionOf(command, word) : undefined
    const inner = operands === 0 ? command.commands.find((subcommand) => subcommand.name() === word) : undefined
    if (pending !== undefined) pending = undefined
    else if (option !== undefined) pending = option.required || option.optional ? option : undefined
    else if (inner !== undefined) command = inner
    else operands++
  }
  const all = pending === undefined ? wordsOf(command, operands, typed.startsWith('-')) : choicesOf(pending)
  return all.filter(({ word }) => word.startsWith(typed))
}

function wordsOf(command: Command, operands: number, isOption: boolean): WordCompletion[] {
  if (isOption)
    return optionsOf(command).map((option) => ({
      word: option.long ?? option.flags,
      meaning: firstSentence(option.description),
    }))
  const inner = operands === 0 ? command.createHelp().visibleCommands(command) : []
  return [
    ...inner.map((subcommand) => ({
      word: subcommand.name(),
      meaning: subcommand.summary() || firstSentence(subcommand.description()),
    })),
    ...(command.registeredArguments[operands]?.argChoices ?? []).map((word) => ({ word, meaning: '' })),
  ]
}

function optionsOf(command: Command): Option[] {
  return command.createHelp().visibleOptions(command)
}

function optionOf(command: Command, word: string): Option | undefined {
  return optionsOf(command).find((option) => option.short === word || option.long === word)
}

function choicesOf(option: Option): WordCompletion[] {
  return (option.argChoices ?? []).map((word) => ({ word, meaning: '' }))
}
