import type { ElementType, ReactNode } from 'react'
import * as react from 'react/jsx-runtime'
import { visibleText } from '../../../../../src/lib/visible-text.ts'
import { directedParts, isolatedText } from './visible-text.ts'

/** The runtime that makes the elements of the built page, those of Mantine and other packages too (docs/adr/0017-visible-text.md). */
export const Fragment = react.Fragment

type Props = Readonly<Record<string, unknown>>
type Create = (type: ElementType, props: Props, key?: string) => ReactNode

/** An element with one child or none, whose texts are shown as `visible-text.ts` says. */
export const jsx: Create = (type, props, key) => react.jsx(type, shownProps(type, props), key)

/** An element with several children, whose texts are shown as `visible-text.ts` says. */
export const jsxs: Create = (type, props, key) => react.jsxs(type, shownProps(type, props), key)

/** Attributes that are read out or shown. */
const SHOWN_ATTRIBUTES = ['title', 'aria-label', 'aria-description', 'aria-valuetext', 'alt', 'placeholder', 'label']
/** Elements that hold text only. */
const TEXT_ONLY: ReadonlySet<unknown> = new Set(['option', 'title', 'text', 'tspan', 'textPath'])
/** Elements whose text is not shown as it is. */
const NOT_SHOWN: ReadonlySet<unknown> = new Set(['style', 'script', 'textarea'])

/**
 * Elements get isolated words. Components get only escapes, because what they draw comes here again as elements, unless
 * `createElement` makes it, as in the router's links. Other props stay as they are: a text may be an id there.
 */
function shownProps(type: ElementType, props: Props): Props {
  const isElement = typeof type === 'string'
  const changed: Record<string, unknown> = {}
  for (const name of SHOWN_ATTRIBUTES) {
    const text = props[name]
    if (typeof text !== 'string') continue
    const shown = isElement ? isolatedText(text) : visibleText(text)
    if (shown !== text) changed[name] = shown
  }
  const given = props['children']
  const children = NOT_SHOWN.has(type) ? given : shownChildren(given, showerFor(type))
  if (children !== given) changed['children'] = children
  return Object.keys(changed).length === 0 ? props : { ...props, ...changed }
}

type Shower = (text: string) => unknown

function showerFor(type: ElementType): Shower {
  if (TEXT_ONLY.has(type)) return isolatedText
  return typeof type === 'string' || (type as unknown) === react.Fragment ? shownText : visibleText
}

/** The same children if none is a text that has to be changed. */
function shownChildren(children: unknown, show: Shower): unknown {
  if (typeof children === 'string') return show(children)
  if (!Array.isArray(children)) return children
  const shown = children.map((child: unknown) => shownChildren(child, show))
  return shown.every((child, at) => child === children[at]) ? children : shown
}

function shownText(text: string): unknown {
  const parts = directedParts(text)
  if (parts.length === 1) return parts[0]
  const children = parts.map((part, at) => (at % 2 === 1 ? react.jsx('bdi', { children: part }) : part))
  return react.jsxs(react.Fragment, { children })
}
