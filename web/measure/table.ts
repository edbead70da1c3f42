// The figures of several runs as a table: the best and the worst of each, beside what is wanted.

export interface Figure {
  name: string;
  unit: string;
  wanted: number;
  values: number[];
}

export class Figures {
  private readonly all = new Map<string, Figure>();

  add(name: string, unit: string, wanted: number, value: number): void {
    const known = this.all.get(name) ?? { name, unit, wanted, values: [] };
    known.values.push(value);
    this.all.set(name, known);
  }

  text(): string {
    const rows = [...this.all.values()].map(({ name, unit, wanted, values }) => {
      const [best, worst] = [Math.min(...values), Math.max(...values)];
      return [name, `${round(best)} ${unit}`, `${round(worst)} ${unit}`, `<= ${wanted} ${unit}`, best <= wanted ? "" : "MISSED"];
    });
    const table = [["figure", "best", "worst", "wanted", ""], ...rows];
    const widths = [0, 1, 2, 3, 4].map((at) => Math.max(...table.map((row) => (row[at] ?? "").length)));
    return table.map((row) => row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  ").trimEnd()).join("\n");
  }
}

function round(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
