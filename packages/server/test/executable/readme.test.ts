/** The README's five minutes with curl, line by line: each command answers what the comment below it says. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { startServer } from '../contract/server-under-test.ts'

interface Step {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  /** The comment lines below the command, joined. */
  readonly shown: string
}

/** Reads the commands as the shell would, as far as the README uses it: `-X`, `-H` and `-d '…'`. */
function readSteps(readme: string): Step[] {
  const section = readme.split('## Five minutes with curl')[1]?.split('\n## ')[0] ?? ''
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block as string)
  const commands = blocks.flatMap((block) => block.split(/^(?=curl )/m))
  return commands.map((command) => {
    const body = /-d '([^']*(?:'[^\s][^']*)*)'/.exec(command)?.[1]
    const shown = [...command.matchAll(/^# ?(.*)$/gm)].map(([, line]) => (line as string).trim()).join('')
    return {
      method: /-X (\w+)/.exec(command)?.[1] ?? (body === undefined ? 'GET' : 'POST'),
      path: /localhost:8185([^\s']*)/.exec(command)?.[1] ?? '',
      body,
      shown,
    }
  })
}

it('answers as the README prints it', async () => {
  const steps = readSteps(readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8'))
  expect(steps.length).toBeGreaterThan(10)
  const server = await startServer()
  for (const { method, path, body, shown } of steps) {
    const reply = await server.send(method, path, body === undefined ? {} : { raw: body })
    if (shown === '') expect(reply.status, reply.text).toBeLessThan(300)
    else expect(reply.json, `${method} ${path}`).toEqual(JSON.parse(shown))
  }
  await server.remove()
})
