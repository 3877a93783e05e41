/** Written by `ashlar types`. Do not edit: run it again after changes of the schema. */
import type { Fields, Id, Keyed, Many, One, Part, Parts, is } from '@ashlar/client'

export interface Schema {
	Badge: Badge
	Party: Party
	Person: Person
	'Work.Task': Work$Task
}

export interface Address {
	city: string|null
	zip: number|null
}

export interface Badge {
	$id: Id<'Badge'>
	code: number|null
	holder: One<Person>|null
	text: string|null
}

export interface Party {
	$id: Id<'Person'>
	[is]: Fields<'name'>
	address: Part<Address>
	name: string
}

export interface Person extends Party {
	$id: Id<'Person'>
	friends: Many<Person>
	tasks: Many<Work$Task, 'owner'>
}

export interface Work$Task {
	$id: Id<'Work.Task'>
	[is]: Fields<'title', 'size', 'number'>
	due: string|null
	helpers: Keyed<Person>
	isUrgent: boolean|null
	labels: string[]
	number: number|null
	owner: One<Person, 'tasks'>|null
	places: Parts<Address>
	points: number|null
	rank: number|null
	size: number|null
	status: 'open'|'done'
	title: string
}
