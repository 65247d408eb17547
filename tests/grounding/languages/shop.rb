# Opens a shop and sells what is in it.
module Shop
  LIMIT = 3
  LOW, HIGH = 1, 2
  CACHE ||= {}
  TABLE = {
    tea: 1,
    coffee: 2
  }.freeze
  Point = Struct.new(:across, :upward) do
    def distance
      across
    end
  end
  Coord = Data.define(:lat, :lng)
  Failure = Class.new(StandardError)
  HANDLER = ->(order) { order }

  class Stock < Base
    attr_reader :items, :sizes
    attr_writer "label"
    attr_accessor :total

    class << self
      attr_accessor :config

      def build
        new
        true
      end

      private def conceal; end
    end

    def initialize(owner)
      @owner = owner
      @@made ||= 0
      $last_shop = self
      @door, @key = 1, 2
    end

    def self.open(place)
      puts place
      new(place)
    end

    def Stock.reopen; end
    def empty?; end
    def save!; end
    def weight=(value)
      @weight = value
      @heavy = true
    end
    def <=>(other); end
    def [](index); end
    def []=(index, value); end
    def +(other); end
    def ==(other); end
    def -@; end
    def call(order) = order
    private def hush; end

    alias fresh_name old_name
    alias :symbol_name :old_name
    alias $fresh_global $last_shop
    alias_method :aliased, :old_name
    alias_method "aliased_too", "old_name"
    alias_attribute :nick, :nickname
    define_method(:dynamic) { |x| x }
    define_method("dynamic_too") do |x|
      x
      x.to_s
    end
    define_singleton_method(:lonely) {}
    delegate :street, :town, to: :address, prefix: true
    def_delegators :@items, :each, :first
    def_delegator :@items, :push, :shove

    scope :active, -> { where(open: true) }
    has_many :letters, dependent: :destroy
    has_one :profile
    belongs_to :company, optional: true
    has_and_belongs_to_many :tags
    has_one_attached :avatar
    validates :email, presence: true
    before_action :authenticate, only: [:index]
    enum :status, { draft: 0, live: 1 }
    enum kind: %i[small large]
    attribute :price, :decimal
    store_accessor :settings, :colour
    class_attribute :mode, default: 1
    mattr_accessor :module_wide
    thread_mattr_accessor :thread_wide
    helper_method :current_shop
    field :headline, String, null: false
    argument :ident, ID
    option :verbose

    concerning :Address do
      def postcode; end
    end
    class_methods do
      def lookup; end
    end
  end

  class Stock::Deep::Shelf; end
  class ::Outside; end
  module Deep::Cellar; end
  Deep::DEPTH = 4

  module Shouting
    refine String do
      def shout; end
    end
  end

  module_function

  def helper; end
end

handler = lambda { |order| order }
worker = proc do |order|
  puts order
  order
end
arrow = ->(order) { order }

RSpec.describe "shopping" do
  let(:customer) { 1 }
  let!(:admin) { 2 }
  subject(:thing) { 3 }
  shared_examples "common" do
    it "works" do
      expect(thing)
      expect(customer)
    end
  end
  context "closed" do
    specify("shut") { expect(1) }
  end
end

class StockTest < Minitest::Test
  def test_opens; end
  test "squeaks" do
    assert true
  end
end

namespace :db do
  desc "Moves"
  task migrate: :environment do
    puts "moved"
    puts "done"
  end
  task :seed do
  end
end

ActiveRecord::Schema.define do
  create_table "people", force: :cascade do |t|
    t.string "nickname", null: false
    t.references :employer
  end
  add_column :people, :shoe_size, :integer
end

Rails.application.routes.draw do
  resources :orders do
    resource :receipt
  end
end

FactoryBot.define do
  factory :person do
    trait :grown do
    end
    sequence(:number) { |n| n }
  end
end

# Nothing is named from here on.
#
#
#
#
#
#
#
#
#
#
#
