/** Random actions of UPDATE, as text and as what they make of a plain model of the object. */
import fc from 'fast-check'

/** What the object has; tasks by their titles, null for the reference to nothing. */
export interface Ship {
  readonly n: number
  readonly name: string
  readonly names: readonly string[]
  readonly plain: readonly (string | null)[]
  readonly tasks: readonly string[]
}

export const titles = ['a', 'b', 'c', 'd', 'e'] as const

type Value = string | null
/** Cells of a list: those that it had keep their places, also when they are gone; the last stands for its end. */
interface Cell {
  readonly place: number | undefined
  value: Value
  isGone: boolean
}

export interface RandomAction {
  readonly text: string
  /** What it is aimed at: two actions of one statement are not aimed at the same. */
  readonly target: string
  /** SET, which may be one of several after commas. */
  readonly isSet: boolean
  apply(before: Ship, state: ModelState): void
}

/** The object as the actions make it, one after the other. */
export class ModelState {
  n: number
  name: string
  readonly lists: Record<ListName, Cell[]>

  constructor({ n, name, names, plain, tasks }: Ship) {
    this.n = n
    this.name = name
    this.lists = { names: cellsOf(names), plain: cellsOf(plain), tasks: cellsOf(tasks) }
  }

  result(): Ship {
    const values = (list: ListName): Value[] => {
      return this.lists[list]
        .filter(({ place, isGone }) => !isGone && place !== Number.POSITIVE_INFINITY)
        .map(({ value }) => value)
    }
    const tasks = [...new Set(values('tasks'))].filter((title) => title !== null)
    const names = values('names') as string[]
    return { n: this.n, name: this.name, names, plain: values('plain'), tasks }
  }
}

type ListName = 'names' | 'plain' | 'tasks'
const listNames: readonly ListName[] = ['names', 'plain', 'tasks']

function cellsOf(values: readonly Value[]): Cell[] {
  const cells: Cell[] = values.map((value, place) => ({ place, value, isGone: false }))
  return [...cells, { place: Number.POSITIVE_INFINITY, value: null, isGone: false }]
}

/** As DO writes it in a list of texts or of tasks. */
function written(list: ListName, value: Value): string {
  if (list === 'names') return `'${value ?? ''}'`
  return value === null ? 'null' : `$${value}`
}

const index = fc.integer({ min: -6, max: 6 })
const range = fc.tuple(fc.option(index, { nil: undefined }), fc.option(index, { nil: undefined }))
const listName = fc.constantFrom(...listNames)
const value = fc.constantFrom<Value>(...titles)

interface Choice {
  readonly text: string
  places(before: readonly Value[]): readonly number[]
}

/** An element, a range, or those that a predicate chooses. */
const choice: fc.Arbitrary<Choice> = fc.oneof(
  index.map((at) => ({
    text: `${at}`,
    places: ({ length }: readonly Value[]) =>
      [...Array(length).keys()].filter((place) => place === (at < 0 ? length + at : at)),
  })),
  range.map(([from, to]) => ({
    text: `${from ?? ''}:${to ?? ''}`,
    places: ({ length }: readonly Value[]) => [...Array(length).keys()].slice(from, to),
  })),
  value.map((title) => ({
    text: `title = '${title}'`,
    places: (before: readonly Value[]) => [...before.keys()].filter((place) => before[place] === title),
  })),
)

function action(text: string, target: string, apply: RandomAction['apply']): RandomAction {
  return { text, target, isSet: text.startsWith('SET '), apply }
}

function chosenCells(state: ModelState, list: ListName, places: readonly number[]): Cell[] {
  return state.lists[list].filter(({ place }) => place !== undefined && places.includes(place))
}

const setElements = fc.tuple(listName, choice, value, fc.boolean()).map(([list, chosen, given, isNull]) => {
  const value = isNull && list !== 'names' ? null : given
  return action(
    `SET ${list}[${chosen.text}] TO ${written(list, value)}`,
    `${list}[${chosen.text}]`,
    (before, state) => {
      for (const cell of chosenCells(state, list, chosen.places(before[list]))) cell.value = value
    },
  )
})

const clearElements = fc.tuple(listName, choice).map(([list, chosen]) => {
  return action(`CLEAR ${list}[${chosen.text}]`, `${list}[${chosen.text}]`, (before, state) => {
    for (const cell of chosenCells(state, list, chosen.places(before[list]))) {
      if (list === 'tasks') cell.isGone = true
      else cell.value = list === 'names' ? '' : null
    }
  })
})

/** A range by a list, or by a part of the list as it was before. */
const setRange = fc
  .tuple(listName, range, fc.oneof(fc.array(value, { maxLength: 3 }), range))
  .map(([list, [from, to], given]) => {
    const isPart = given.length === 2 && given.some((one) => typeof one !== 'string')
    const [first, last] = given as [number | undefined, number | undefined]
    const values = (given as Value[]).map((one) => written(list, one))
    const text = isPart ? `${list}[${first ?? ''}:${last ?? ''}]` : `LIST{${values.join(', ')}}`
    const place = `${list}[${from ?? ''}:${to ?? ''}]`
    return action(`SET ${place} TO ${text}`, place, (before, state) => {
      const old = before[list]
      const values = isPart ? old.slice(first, last) : (given as Value[])
      const places = [...old.keys()].slice(from, to)
      for (const cell of chosenCells(state, list, places)) cell.isGone = true
      const inside = (at: number): number => Math.max(0, Math.min(old.length, at < 0 ? old.length + at : at))
      const begin = inside(from ?? 0)
      const cells = state.lists[list]
      const at = cells.findIndex((cell) => cell.place === (begin === old.length ? Number.POSITIVE_INFINITY : begin))
      cells.splice(at, 0, ...values.map((value) => ({ place: undefined, value, isGone: false })))
    })
  })

const addOrRemove = fc
  .tuple(listName, value, fc.constantFrom('ADD', 'REMOVE', 'REMOVE AT'))
  .chain(([list, given, kind]) => {
    return index.map((at) => {
      const cells = (state: ModelState): Cell[] =>
        state.lists[list].filter(({ place }) => place !== Number.POSITIVE_INFINITY)
      if (kind === 'ADD') {
        return action(`ADD ${written(list, given)} TO ${list}`, '', (_before, state) => {
          state.lists[list].push({ place: undefined, value: given, isGone: false })
        })
      }
      if (kind === 'REMOVE') {
        return action(`REMOVE ${written(list, given)} FROM ${list}`, '', (_before, state) => {
          for (const cell of cells(state)) if (cell.value === given) cell.isGone = true
        })
      }
      return action(`REMOVE ${list}[${at}] FROM ${list}`, '', (before, state) => {
        const { length } = before[list]
        for (const cell of chosenCells(state, list, [at < 0 ? length + at : at])) cell.isGone = true
      })
    })
  })

const wholes = fc.constantFrom<RandomAction>(
  action('SET n TO n + LENGTH(names)', 'n', ({ n, names }, state) => {
    state.n = n + names.length
  }),
  action('SET name TO CAST(n AS String)', 'name', ({ n }, state) => {
    state.name = String(n)
  }),
  action('CLEAR n', 'n', (_before, state) => {
    state.n = 0
  }),
  action('CLEAR name', 'name', (_before, state) => {
    state.name = ''
  }),
)

const anyAction = fc.oneof(setElements, setRange, clearElements, addOrRemove, wholes)

/** Actions with different targets; texts are not chosen by a predicate. */
export const randomActions = fc.array(anyAction, { minLength: 1, maxLength: 5 }).map((actions) => {
  const targets = new Set<string>()
  return actions.filter(({ target, text }) => {
    const isTaken = target !== '' && targets.has(target)
    targets.add(target)
    return !isTaken && !/names\[title/.test(text)
  })
})

export const randomShip: fc.Arbitrary<Ship> = fc.record({
  n: fc.integer({ min: 0, max: 9 }),
  name: fc.constantFrom('x', ''),
  names: fc.array(fc.constantFrom(...titles), { maxLength: 5 }),
  plain: fc.array(fc.option(fc.constantFrom(...titles), { nil: null }), { maxLength: 5 }),
  tasks: fc.uniqueArray(fc.constantFrom(...titles), { maxLength: 5 }),
})

/** `SET a TO 1, b TO 2` for two that follow each other, where `isJoined`. */
export function updateText(actions: readonly RandomAction[], isJoined: boolean): string {
  let text = ''
  for (const [i, { text: next, isSet }] of actions.entries()) {
    const isAfterSet = isJoined && isSet && actions[i - 1]?.isSet === true
    text += isAfterSet ? `, ${next.slice('SET '.length)}` : ` ${next}`
  }
  return `UPDATE Ship WHERE name != 'other'${text}`
}
