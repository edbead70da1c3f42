// A component that is drawn again only if one of its properties is another. Knows no view.

import { h, type Component, type FunctionComponent } from "preact";

export function memo<P extends object>(inner: FunctionComponent<P>): FunctionComponent<P> {
  return function Memo(this: Component<P>, props: P) {
    this.shouldComponentUpdate = (next) => differ(this.props as P, next as P);
    return h(inner, props);
  };
}

function differ<P extends object>(a: P, b: P): boolean {
  const names = Object.keys(b) as (keyof P)[];
  return names.length !== Object.keys(a).length || names.some((name) => !Object.is(a[name], b[name]));
}
