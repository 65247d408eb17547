<?php

declare(strict_types=1);

namespace Shop\Core;

use Shop\Till\Cash;
use Shop\Till\Coin as Penny;
use function Shop\count_all as count_up;
use Shop\{Door, Window as Pane};

const LIMIT = 3, RATE = 4;
define('OLD_LIMIT', 1);
define("OLD_RATE", 2);

#[Attribute(Attribute::TARGET_CLASS)]
final class Marker {}

interface Shape extends Countable
{
    const SIDES = 1;

    public function area(): float;
}

trait Loud
{
    public $volume;

    abstract function shout();

    public function whisper(): void
    {
        $this->volume = 1;
        echo 'psst';
    }
}

enum Color: string implements HasLabel
{
    case Red = 'r';
    case Blue = 'b';

    const FALLBACK = self::Red;

    public function label(): string
    {
        echo 'label';
        return 'x';
    }
}

enum Unit { case Kilo; }

abstract class Stock extends Base implements Shape
{
    use Loud, Quiet {
        Loud::shout insteadof Quiet;
        shout as protected yell;
        hush as sigh;
    }

    private const SIZE = 2;
    public const string TYPED = 'x', SECOND = 'y';
    private array $items = [];
    public static ?Stock $instance = null, $spare;
    var $ancient;
    public readonly int $fixed;
    public string $hooked {
        get => 'a';
        set => 'b';
    }
    protected $casts = [
        'opened_at' => 'datetime',
    ];

    public function __construct(private Till $till, protected readonly int $depth = 1)
    {
        echo 'made';
        echo 'done';
    }

    public static function open(): static
    {
        static $calls = 0;
        return new static();
    }

    abstract protected function make();

    final public function &refer() {}

    public function __get($wanted) {}

    /**
     * What it is.
     */
    #[Route('/x')]
    public function routed(): array
    {
        return [
            'headline' => 1,
            'nested' => ['level' => 2],
        ];
    }
}

function helper(int $x): int
{
    if (!function_exists('maybe')) {
        function maybe() {}
    }
    $inner = fn ($y) => $y;
    return $x;
}

$handler = function ($order) use ($x) {
    echo 'handled';
    return 1;
};
$frozen = static fn () => 1;
$settings = ['colour' => 1];
$anonymous = new class extends Base {
    public $secret;

    public function reveal() {}
};

it('squeaks', function () {
    expect(1);
});
test('shuts', fn () => 1);
describe('opening', function () {});

finish:

return [
    'driver' => 'file',
];

// Nothing is named from here on.
//
//
//
//
//
//
//
//
//
//
//
