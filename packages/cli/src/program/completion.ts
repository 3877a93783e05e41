/** `ashlar completion`: completion scripts for shells; they ask the program itself for commands, options and values. */
import { Argument, type Command } from 'commander'
import { addJsonOption } from '../declaration/client-command.ts'
import { printResult, type ResultOptions } from '../output/print-result.ts'
import type { WordCompletion } from './complete.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

export function addCompletionCommand(program: Command): void {
  const completion = program
    .command('completion')
    .summary('Print a shell completion script.')
    .description(
      'Print a shell completion script for commands, options and their values. For bash: source <(ashlar completion bash) in ~/.bashrc; ' +
        'for zsh: source <(ashlar completion zsh) in ~/.zshrc, after compinit; for fish: ashlar completion fish > ~/.config/fish/completions/ashlar.fish.',
    )
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
  addJsonOption(completion).action((shell: Shell, options: ResultOptions) =>
    printResult({ shell, script: scripts[shell] }, options, () => [scripts[shell].trimEnd()]),
  )
  const complete = program
    .command('complete', { hidden: true })
    .description('What could stand in place of the last word; asked by the scripts of completion.')
    .addArgument(new Argument('<shell>').choices(shells))
    .argument('[words...]')
  addJsonOption(complete).action(async (shell: Shell, words: readonly string[], { json }: ResultOptions) => {
    const { candidates } = await import('./complete.ts')
    const found = candidates(program, words)
    if (json === true) printResult(found, { json }, () => [])
    else process.stdout.write(found.map((candidate) => `${lineOf[shell](candidate)}\n`).join(''))
  })
}

const lineOf: Readonly<Record<Shell, (candidate: WordCompletion) => string>> = {
  bash: ({ word }) => word,
  zsh: ({ word, meaning }) => `${word.replaceAll(':', '\\:')}:${meaning}`,
  fish: ({ word, meaning }) => `${word}\t${meaning}`,
}

/** The scripts fall back to file names. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `_ashlar() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _ashlar ashlar
`,
  zsh: `#compdef ashlar
_ashlar() {
  local -a found
  found=("\${(@f)$("\${words[1]}" complete zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then _describe -V ashlar found; else _files; fi
}
compdef _ashlar ashlar
`,
  fish: `function __ashlar_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] complete fish -- $words[2..-1] 2>/dev/null
end
complete -c ashlar -k -a '(__ashlar_complete)'
`,
}
